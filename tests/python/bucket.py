"""Reads uploaded lakes over the S3 protocol: rows of each table and sum of tokens, by machine, as JSON.

    bucket.py s3://BUCKET/PREFIX     endpoint and credentials from the usual variables
"""

import json
import os
import sys
from urllib.parse import urlparse

import pyarrow.compute as pc
import pyarrow.dataset as ds
from pyarrow import fs


def main(url):
    endpoint = urlparse(os.environ["AWS_ENDPOINT_URL"])
    store = fs.S3FileSystem(
        access_key=os.environ["AWS_ACCESS_KEY_ID"],
        secret_key=os.environ["AWS_SECRET_ACCESS_KEY"],
        region=os.environ["AWS_REGION"],
        endpoint_override=endpoint.netloc,
        scheme=endpoint.scheme,
    )
    place = urlparse(url)
    facts = {}
    for table in ["sessions", "messages", "tool_calls", "usage"]:
        selector = fs.FileSelector(f"{place.netloc}{place.path}/{table}", recursive=True)
        paths = [found.path for found in store.get_file_info(selector) if found.path.endswith(".parquet")]
        rows = ds.dataset(paths, filesystem=store, format="parquet", partitioning="hive").to_table()
        for machine in pc.unique(rows["machine"]).to_pylist():
            of_machine = rows.filter(pc.equal(rows["machine"], machine))
            facts.setdefault(machine, {})[table] = of_machine.num_rows
            if table == "usage":
                facts[machine]["tokens"] = pc.sum(of_machine["total_tokens"]).as_py()
    json.dump(facts, sys.stdout)


main(sys.argv[1])
