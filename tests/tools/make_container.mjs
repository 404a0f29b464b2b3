// Makes a container in an Azure emulator: make_container.mjs URL ACCOUNT KEY NAME
import { createHmac } from "node:crypto";

const [url, account, key, name] = process.argv.slice(2);
const headers = { "x-ms-date": new Date().toUTCString(), "x-ms-version": "2021-08-06" };
const signed = Object.entries(headers).map(([header, value]) => `${header}:${value}\n`).join("");
const text = `PUT${"\n".repeat(12)}${signed}/${account}/${account}/${name}\nrestype:container`;
const signature = createHmac("sha256", Buffer.from(key, "base64")).update(text, "utf8").digest("base64");
const answer = await fetch(`${url}/${account}/${name}?restype=container`, {
    method: "PUT",
    headers: { ...headers, Authorization: `SharedKey ${account}:${signature}` },
});
if (!answer.ok) {
    console.error(answer.status, await answer.text());
    process.exit(1);
}
