import ConiferStorage
import ConiferTree
import Testing

@testable import ConiferTool

@Suite struct IndexCommandTests {
  let sandbox: Sandbox

  init() throws { sandbox = try Sandbox() }

  @Test("Indexes are declared from rules or by name, used, and told", arguments: persistentBackends)
  func indexes(backend: String) async throws {
    let url = sandbox.url(backend)
    let dinosaurs = Repository.root + "/Examples/Data/dinosaurs.json"
    #expect(await sandbox.run("import", dinosaurs, store: url).status == .success)
    let query = [
      "query", "/dinosaurs", "--order-by-child", "height", "--limit-to-last", "2", "--explain",
    ]
    let before = await sandbox.run(query, store: url)
    #expect(before.notes.contains(#"add ".indexOn": ["height"] at /dinosaurs"#), "\(before.notes)")
    let rules = try sandbox.file(
      "rules.json",
      #"{"rules": {"dinosaurs": {".indexOn": ["height", "length"]}, /* by value */ "scores": {".indexOn": ".value",}}}"#
    )
    let declared = await sandbox.run("index", "--rules", rules, "--json", store: url)
    let list = try Node(json: declared.line)
    #expect(list.childCount == 3, "\(declared.line)\(declared.notes)")
    #expect(list[Path("0/path")] == "/dinosaurs" && list[Path("0/on")] == "height")
    #expect(list[Path("0/ready")] == true && list[Path("0/entries")].leaf?.number ?? 0 > 2)
    let after = await sandbox.run(query, store: url)
    #expect(after.text == before.text)
    #expect(after.notes.contains("index /dinosaurs on height: 2 children, 2 index entries"))
    let more = await sandbox.run(
      "index", "--path", "dinosaurs", "--on", "order", "--on", ".priority", store: url)
    #expect(more.text.split(separator: "\n").count == 6, "\(more.text)")
    #expect(await sandbox.run("index", store: url).text == more.text)
    #expect(await sandbox.run("index", "--none", store: url).line == "no index is declared")
    #expect(await sandbox.run(query, store: url).notes.contains("whole node"))
  }

  @Test("What is invalid is refused, and nothing is declared")
  func refusals() async throws {
    let url = sandbox.url("lmdb")
    #expect(await sandbox.run("index", store: url).status == .missing)
    #expect(await sandbox.run("set", "/a/b", "1", store: url).status == .success)
    let bad = try sandbox.file("rules.json", "{\"rules\": {\n\"a\": {\".indexOn\": 3}}}")
    let refused = await sandbox.run("index", "--rules", bad, store: url)
    #expect(refused.status == .usage && refused.notes.contains("line 2, column 19"))
    #expect(await sandbox.run("index", "--path", "a", store: url).status == .usage)
    #expect(await sandbox.run("index", "--on", "a", store: url).status == .usage)
    #expect(await sandbox.run("index", "--none", "--rules", bad, store: url).status == .usage)
    #expect(
      await sandbox.run("index", "--path", "a", "--on", ".key", store: url).status == .usage)
    #expect(
      await sandbox.run("index", "--rules", "/nowhere/rules.json", store: url).status != .success)
    #expect(await sandbox.run("index", "--json", store: url).line == "[]")
  }

  @Test(
    "A migration declares them in the target, too",
    .enabled(if: Repository.tool != nil, "The built tool is not beside the tests."))
  func migrated() async throws {
    let (from, to) = (sandbox.url("lmdb", "from"), sandbox.url("sqlite", "to"))
    #expect(
      await sandbox.run("set", "/a/b", #"{"x":{"ts":1},"y":{"ts":2}}"#, store: from).status
        == .success)
    #expect(
      await sandbox.run("index", "--path", "a/$list", "--on", "ts", store: from).status == .success)
    let migrated = try sandbox.spawn("migrate", from, to)
    #expect(migrated.status == 0, "\(migrated)")
    let list = try Node(json: await sandbox.run("index", "--json", store: to).line)
    #expect(list[Path("0/path")] == "/a/$list" && list[Path("0/on")] == "ts")
  }
}
