"""The examples of pages on REST, where what is behind `$ ` is run, and of the page on gRPC, where a program of Python is: each prints the lines
below it, times aside."""
import pathlib
import re
import subprocess
import sys
import unittest

import support

DOCS = pathlib.Path(__file__).resolve().parents[2] / "Docs"


def timeless(text):
    return re.sub(r"\d{4}-\d\d-\d\dT[0-9:.]+Z", "TIME", text.rstrip("\n"))


class DocsTest(support.ClientTest):
    def test_examples(self):
        for page in ("REST.md", "DocumentREST.md"):
            self.assertGreater(self.run_page(page), 8)

    @unittest.skipUnless(support.GRPC, "the server has no gRPC")
    def test_program(self):
        page = (DOCS / "DocumentGRPC.md").read_text()
        program, expected = re.search(r"^```python\n(.*?)^```\n\n^```\n(.*?)^```$", page, re.M | re.S).groups()
        program = program.replace("localhost:8080", support.GRPC).replace("my-app", self.namespace)
        run = subprocess.run([sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True, timeout=60)
        self.assertEqual(run.stdout, expected, run.stderr)

    def run_page(self, page):
        # The examples of trees name no database, so that their host does.
        shell = f'curl() {{ command curl -sS -H "Host: {self.namespace}.db.localhost" "$@"; }}\n'
        count = 0
        for block in re.findall(r"^```\n(\$ .*?)^```$", (DOCS / page).read_text(), re.M | re.S):
            for example in re.split(r"^\$ ", block, flags=re.M)[1:]:
                command, _, expected = example.partition("\n")
                command = shell + command.replace("localhost:9000", support.HOST)
                run = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60)
                with self.subTest(page=page, command=command.splitlines()[-1]):
                    self.assertEqual(timeless(run.stdout), timeless(expected), run.stderr)
                count += 1
        return count


if __name__ == "__main__":
    unittest.main()
