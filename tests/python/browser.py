"""How a page looks in Chromium, as JSON: browser.py CHROMIUM FILE [FOLDER]. The folder gets pictures and the PDF.

Chromium is driven over a pipe, so that nothing but it and Python is needed.
"""

import base64
import fcntl
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

WIDTHS = (390, 768, 1280)
# An A4 page without the margins of the style sheet, in pixels.
PAPER = 695
MEASURE = """
(() => {
  const width = document.documentElement.clientWidth, found = {wide: [], small: [], broken: [], hidden: [], over: []};
  const name = (e) => e.tagName + '.' + (e.getAttribute('class') || '') + ' ' + e.textContent.trim().slice(0, 40);
  const texts = (e) => [...e.childNodes].filter((n) => n.nodeType === 3 && n.data.trim());
  for (const e of document.querySelectorAll('body, body *')) {
    if (e.closest('.vh, title, desc') || !e.checkVisibility()) continue;
    const box = e.getBoundingClientRect();
    if (!box.width && !box.height) continue;
    if (box.right > width + 0.5 || box.left < -0.5) found.wide.push(name(e) + ' ' + box.left + '–' + box.right);
    if (!texts(e).length) continue;
    const scale = e.getScreenCTM ? e.getScreenCTM().a : 1;
    const size = parseFloat(getComputedStyle(e).fontSize) * scale;
    if (size < LEAST) found.small.push(name(e) + ' ' + size);
    if (e.closest('.n, .nb, .v')) {
      for (const text of texts(e)) {
        const range = document.createRange();
        range.selectNodeContents(text);
        const tops = new Set([...range.getClientRects()].map((r) => Math.round(r.top)));
        if (tops.size > 1) found.broken.push(name(e));
      }
    }
    const style = getComputedStyle(e);
    if (style.overflowX !== 'visible' && e.scrollWidth > e.clientWidth + 1) found.hidden.push(name(e));
  }
  for (const svg of document.querySelectorAll('svg[role=img]')) {
    const labels = [...svg.querySelectorAll('text')].filter((t) => t.checkVisibility());
    labels.forEach((a, at) => labels.slice(at + 1).forEach((b) => {
      const [p, q] = [a.getBoundingClientRect(), b.getBoundingClientRect()];
      const is_over = Math.min(p.right, q.right) - Math.max(p.left, q.left) > 1
        && Math.min(p.bottom, q.bottom) - Math.max(p.top, q.top) > 2;
      if (is_over) found.over.push(a.textContent + ' | ' + b.textContent);
    }));
  }
  found.scroll = document.documentElement.scrollWidth - width;
  found.height = document.documentElement.scrollHeight;
  return found;
})()
"""


class Chromium:
    def __init__(self, program, profile):
        # Chromium reads commands from descriptor 3 and answers on 4.
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for pair in (os.pipe(), os.pipe()) for end in pair]
        theirs_in, self.out, self.inp, theirs_out = ends
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--remote-debugging-pipe",
                   f"--user-data-dir={profile}", "about:blank"]
        self.process = subprocess.Popen(
            [program, *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, pass_fds=(3, 4),
            preexec_fn=lambda: (os.dup2(theirs_in, 3), os.dup2(theirs_out, 4)))
        os.close(theirs_in)
        os.close(theirs_out)
        self.rest, self.number, self.session = b"", 0, None

    def ask(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.read()
            if answer.get("id") == self.number:
                assert "error" not in answer, answer
                return answer["result"]

    def read(self):
        while b"\0" not in self.rest:
            more = os.read(self.inp, 1 << 20)
            assert more, "Chromium ended"
            self.rest += more
        line, _, self.rest = self.rest.partition(b"\0")
        return json.loads(line)

    def open(self, url):
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.ask("Page.enable")
        self.ask("Page.navigate", url=url)
        while self.read().get("method") != "Page.loadEventFired":
            pass

    def run(self, script):
        answer = self.ask("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def resize(self, width):
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)

    def paint(self, media, scheme):
        self.ask("Emulation.setEmulatedMedia", media=media, features=[{"name": "prefers-color-scheme", "value": scheme}])

    def picture(self, path, height):
        clip = {"x": 0, "y": 0, "width": self.run("innerWidth"), "height": height, "scale": 1}
        data = self.ask("Page.captureScreenshot", clip=clip, captureBeyondViewport=True)["data"]
        path.write_bytes(base64.b64decode(data))


def measure(browser, least):
    return browser.run(MEASURE.replace("LEAST", str(least)))


def main(program, file, folder=None):
    folder = folder and pathlib.Path(folder)
    states = []
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        browser = Chromium(program, profile)
        try:
            browser.open(pathlib.Path(file).resolve().as_uri())
            for is_open in (False, True):
                if is_open:
                    browser.run("document.querySelectorAll('details').forEach((e) => { e.open = true; })")
                for width in WIDTHS:
                    browser.resize(width)
                    for scheme in ("light", "dark"):
                        browser.paint("screen", scheme)
                        found = measure(browser, 9)
                        states.append({"state": f"{width} {scheme} {'open' if is_open else 'closed'}", **found})
                        if folder and (is_open or scheme == "light"):
                            browser.picture(folder / f"{width}-{scheme}-{'open' if is_open else 'closed'}.png", found["height"])
            browser.run("document.querySelectorAll('details').forEach((e) => { e.open = false; })")
            browser.resize(PAPER)
            browser.paint("print", "dark")
            states.append({"state": "print", **measure(browser, 9)})
            browser.ask("Emulation.clearDeviceMetricsOverride")
            browser.paint("", "light")
            pdf = base64.b64decode(browser.ask("Page.printToPDF", preferCSSPageSize=True, printBackground=True)["data"])
            if folder:
                (folder / "page.pdf").write_bytes(pdf)
        finally:
            browser.process.kill()
            browser.process.wait()
    pages = len(re.findall(rb"/Type\s*/Page\b", pdf))
    sizes = sorted({tuple(round(float(side)) for side in box.split()) for box in re.findall(rb"/MediaBox\s*\[([^]]*)\]", pdf)})
    print(json.dumps({"states": states, "pages": pages, "sizes": sizes}))


main(*sys.argv[1:])
