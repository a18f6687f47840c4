import ConiferDocument
import ConiferTree
import Testing

@testable import ConiferTool

@Suite struct DocBadInputTests {
  let sandbox: Sandbox

  init() throws { sandbox = try Sandbox() }

  static let long = String(repeating: "long ", count: 120_000)

  /// Commands, the code of their error, and words of it.
  static let writes: [(command: [String], code: String, words: String)] = [
    (["set", "a/b", #"{"x": [[1]]}"#], "invalid-value", "The array at 'x' holds an array"),
    (["set", "a/b", #"{"__x__": 1}"#], "invalid-field-path", "__x__"),
    (["set", "a/b", #"{"m": {"": 1}}"#], "invalid-field-path", "empty name"),
    (["set", "a/__x__", "{}"], "invalid-path", "reserved"),
    (["set", "a/__id07__", "{}"], "invalid-path", "reserved"),
    (["set", "__id7__/b", "{}"], "invalid-path", "reserved"),
    (["set", "a/..", "{}"], "invalid-path", "reserved"),
    (["set", "a", "{}"], "invalid-path", "has 1 segments, as a collection has"),
    (["set", "a//b", "{}"], "invalid-path", "empty segment"),
    (["get", "a/b/c"], "invalid-path", "even number"),
    (["delete", "a/b/c"], "invalid-path", "even number"),
    (["query", "a/b"], "invalid-path", "odd number"),
    (["export", "a/b"], "invalid-path", "odd number"),
    (["set", "a/b", "[1]"], "not-an-object", "JSON object"),
    (["update", "a/b", "[1]"], "not-an-object", "field paths"),
    (["set", "a/b", #"{"x": "\ud800"}"#], "lone-surrogate", "line 1, column 8"),
    (["set", "a/b", #"{"x": 18446744073709551615}"#], "invalid-value", "64 bits"),
    (["set", "a/b", #"{"x": 1e999}"#], "number-out-of-range", "column 7"),
    (["set", "a/b", "{\"x\": 1,\n y}"], "unexpected-byte", "line 2, column 2"),
    (["set", "a/b", "{} {}"], "trailing-text", "column 4"),
    (
      [
        "set", "a/b",
        String(repeating: #"{"k":"#, count: 22) + "1" + String(repeating: "}", count: 22),
      ], "too-deep", "20"
    ),
    (
      [
        "set", "a/b", "--",
        String(repeating: #"{"k":"#, count: 500) + "1" + String(repeating: "}", count: 500),
      ], "too-deep", "nested"
    ),
    (["set", "a/b", #"{"x": "\#(long)\#(long)"}"#], "value-too-large", "1048487"),
    (
      ["set", "a/b", #"{"x": "\#(long)", "y": "\#(long)"}"#], "document-too-large", "1048576"
    ),
    (["set", "a/b", "--typed", #"{"x": 1}"#], "invalid-value", #"no "x""#),
    (["set", "a/b", "--typed", #"{"fields": {"x": 1}}"#], "invalid-value", "column 18"),
    (["update", "a/b", #"{"a..b": 1}"#], "invalid-field-path", "empty name"),
    (["update", "a/b", #"{"a": 1, "a.b": 2}"#], "invalid-write", "within it"),
  ]

  @Test("A write that is invalid is refused, and makes no store", arguments: writes)
  func badWrite(command: [String], code: String, words: String) async throws {
    let output = await sandbox.run(["doc"] + command, store: sandbox.url("lmdb"))
    #expect(output.status == .badData, "\(output.notes.prefix(300))")
    #expect(
      output.notes.contains("\(code): ") && output.notes.contains(words),
      "\(output.notes.prefix(300))")
    #expect(output.text.isEmpty && !Platform.exists(sandbox.path("store")))
  }

  @Test(
    "A query that is invalid is refused",
    arguments: [
      ["--limit", "0"], ["--limit", "1", "--limit-to-last", "1"], ["--limit-to-last", "1"],
      ["--where", "n"], ["--where", "n ~ 1"], ["--where", "n == x"], ["--where", "n in []"],
      ["--where", "n in 1"], ["--where", "n != 1", "--where", "m != 1"], ["--start-at", "1"],
      ["--order-by", "n", "--start-at", "1", "--start-after", "1"],
      ["--typed", "--where", "n == 1"],
      ["--where", "__name__ == 1"], ["--where", "n == [[1]]"], ["--where", "__x__ == 1"],
      ["--order-by", "n", "--start-at", "[[1]]"], ["--order-by", "n:up"], ["--order-by", "n:"],
      ["--order-by", "n", "--order-by", "n:desc"],
      ["--sum", "a", "--sum", "b", "--sum", "c", "--sum", "d", "--sum", "e", "--count"],
      ["--sum", "__x__"], ["--count", "--average", "a.__x__"], ["--sum", "__name__"],
    ])
  func badQuery(options: [String]) async throws {
    let url = sandbox.url("lmdb")
    #expect(await sandbox.run("doc", "set", "a/b", "{}", store: url).status == .success)
    let output = await sandbox.run(["doc", "query", "a"] + options, store: url)
    #expect(output.status == .usage && output.text.isEmpty, "\(output.notes)")
    let group = await sandbox.run("doc", "query", "a/b/c", "--group", store: url)
    #expect(group.status == .usage && group.notes.contains("c"))
  }

  /// The third document of a file, the code of its error, and words of it.
  static let documents: [(text: String, code: String, words: String)] = [
    (#"{"name": "rooms/a"}"#, "invalid-path", "column 10: 'rooms/a' names no document"),
    (#"{"fields": {}}"#, "invalid-path", "A document has no name"),
    (
      #"{"name": "projects/q/databases/d/documents/a/b"}"#, "invalid-path",
      "--tree 'projects/q/databases/d'"
    ),
    (#"{"name": "ROOT/a/b", "feilds": {}}"#, "invalid-value", #"no "feilds""#),
    (#"{"name": "ROOT/a/b/c"}"#, "invalid-path", "even number"),
    (#"{"name": "ROOT/a/__b__"}"#, "invalid-path", "reserved"),
    (
      #"{"name": "ROOT/a/b", "fields": {"x": {"arrayValue": {"values": [{"arrayValue": {}}]}}}}"#,
      "invalid-value", "a/b: The array at 'x' holds an array"
    ),
    (
      #"{"name": "ROOT/a/b", "fields": {"x": {"referenceValue": "projects/q/databases/d/documents/a/b"}}}"#,
      "invalid-value", "same database"
    ),
    (#"{"name": "ROOT/a/b", "updateTime": "now"}"#, "invalid-value", "is no time"),
    (
      #"{"name": "ROOT/a/b", "fields": {"x": {"stringValue": "\udc00"}}}"#, "lone-surrogate", "half"
    ),
    (#"{"name": "ROOT/a/b"} {}"#, "trailing-text", "column"),
    (#"{"name": "ROOT/a/b""#, "unexpected-end", "column"),
    ("7", "invalid-value", "A document is a JSON object"),
  ]

  @Test(
    "A file with a document that cannot be stored names its line, and nothing is stored",
    arguments: documents)
  func badDocument(text: String, code: String, words: String) async throws {
    let root = "projects/main/databases/(default)/documents"
    let bad = text.replacing("ROOT", with: root)
    let good = #"{"name": "\#(root)/a/good"}"#
    let url = sandbox.url("lmdb")
    let file = try sandbox.file("bad.jsonl", [good, "", bad, good].joined(separator: "\n"))
    let output = await sandbox.run("doc", "import", file, store: url)
    #expect(output.status == .badData, "\(output.notes)")
    #expect(
      output.notes.contains("\(code): line 3, ") && output.notes.contains(words),
      "\(output.notes)")
    #expect(output.text.isEmpty && !Platform.exists(sandbox.path("store")))
    let array = try sandbox.file("bad.json", "[\n\(good),\n\(bad)]")
    let again = await sandbox.run("doc", "import", array, store: url)
    #expect(again.status == .badData && again.notes.contains(": line 3, "), "\(again.notes)")
    #expect(!Platform.exists(sandbox.path("store")))
  }

  @Test("What a stream holds before an error is stored, and told")
  func badStream() async throws {
    let tool = try #require(Repository.tool)
    let root = "projects/main/databases/(default)/documents"
    let lines = (0..<600).map { #"{"name": "\#(root)/a/d\#($0)"}"# } + ["{"]
    let file = try sandbox.file("documents.jsonl", lines.joined(separator: "\n"))
    let url = sandbox.url("lmdb")
    let child = try ChildProcess(
      ["-c", "cat '\(file)' | '\(tool)' doc import - --store '\(url)' 2>&1"], of: "/bin/sh")
    #expect(try child.line() == "conifer: 500 documents were stored before the error")
    #expect(try child.line()?.contains("unexpected-end: line 601, column 2") == true)
    guard case .exited(ToolStatus.badData.rawValue) = try child.wait() else {
      return #expect(Bool(false))
    }
    #expect(await sandbox.run("doc", "query", "a", "--count", store: url).line == "count  500")
  }

  @Test("A wrong file of indexes names the place, and nothing is declared")
  func badIndexes() async throws {
    let url = sandbox.url("lmdb")
    #expect(await sandbox.run("doc", "set", "a/__id7__", "{}", store: url).status == .success)
    for (text, place) in [
      (
        #"{"indexes": [{"collectionGroup": "a", "queryScope": "COLLECTION", "fields": [{"fieldPath": "n", "order": "UP"}]}]}"#,
        "indexes[0].fields[0].order"
      ), ("{\"indexes\": 3}", "indexes: must be an array"), ("{\n", "line 2, column 1"),
    ] {
      let file = try sandbox.file("indexes.json", text)
      let output = await sandbox.run("doc", "indexes", "--set", file, store: url)
      #expect(output.status == .badData, "\(output.notes)")
      #expect(
        output.notes.contains("bad-indexes: ") && output.notes.contains(place), "\(output.notes)")
    }
    #expect(await sandbox.run("doc", "indexes", store: url).line == "no index is declared")
  }
}
