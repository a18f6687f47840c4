"""The examples of Docs/REST.md: what is behind `$ ` is run, and prints the lines below it."""
import pathlib
import re
import subprocess
import unittest

import support

PAGE = pathlib.Path(__file__).resolve().parents[2] / "Docs" / "REST.md"


class DocsTest(support.ClientTest):
    def test_examples(self):
        # The examples name no database, so that their host does.
        shell = f'curl() {{ command curl -sS -H "Host: {self.namespace}.db.localhost" "$@"; }}\n'
        count = 0
        for block in re.findall(r"^```\n(\$ .*?)^```$", PAGE.read_text(), re.M | re.S):
            for example in re.split(r"^\$ ", block, flags=re.M)[1:]:
                command, _, expected = example.partition("\n")
                command = shell + command.replace("localhost:9000", support.HOST)
                run = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60)
                with self.subTest(command=command.splitlines()[-1]):
                    self.assertEqual(run.stdout.rstrip("\n"), expected.rstrip("\n"), run.stderr)
                count += 1
        self.assertGreater(count, 10)


if __name__ == "__main__":
    unittest.main()
