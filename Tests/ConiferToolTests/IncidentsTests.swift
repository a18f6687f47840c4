import ConiferKeyValue
import ConiferStorage
import ConiferTree
import Testing

@testable import ConiferTool

/// The reports of damage of a store: read, and acknowledged.
@Suite(.enabled(if: Repository.tool != nil, "The built tool is not beside the tests."))
struct IncidentsTests {
  let sandbox: Sandbox

  init() throws { sandbox = try Sandbox() }

  private func report(
    _ backend: String, _ kind: Incident.Kind, _ place: String, _ bytes: [UInt8]
  ) async throws {
    try await sandbox.opened(backend) { store in
      let incident = Incident(kind: kind, tree: store.tree, place: place, bytes: bytes)
      _ = try await store.backend.commit([.report(incident)])
    }
  }

  /// The reports as programs get them.
  private func list(_ url: String) async throws -> [Node] {
    let output = await sandbox.run("incidents", "--json", store: url)
    #expect(output.status == .success, "\(output)")
    return try Node(json: output.line).children.map(\.node)
  }

  @Test(
    "The bytes that a report kept are written as they are, by an id that no other report changes",
    arguments: persistentBackends)
  func bytes(backend: String) async throws {
    let url = sandbox.url(backend)
    #expect(await sandbox.run("set", "/a", "1", store: url).status == .success)
    #expect(await sandbox.run("incidents", store: url).line == "no damage was reported")
    try await report(backend, .writeSetAside, "write 9", [0, 255, 10])
    let id = try #require(try await list(url).first?.member("id").text)
    try await report(backend, .cacheRangeDropped, "/a", [])
    let table = await sandbox.run("incidents", store: url)
    #expect(table.text.contains("cacheRangeDropped") && table.text.contains(id), "\(table)")
    // The new one comes first.
    let rows = try await list(url)
    #expect(rows.map { $0.member("bytes").count } == [0, 3] && rows.last?.member("id").text == id)
    for name in [id, String(id.prefix(12)), id.uppercased()] {
      let content = await sandbox.run("incidents", name, "--json", store: url)
      #expect(content.line.contains(#""content":"AP8K""#), "\(content)")
    }
    let raw = try sandbox.shell("conifer incidents \(id) --store '\(url)' > bytes")
    #expect(raw.status == 0 && raw.text.isEmpty)
    #expect(try contents(sandbox.path("bytes")) == [0, 255, 10])
    let other = try #require(rows.first?.member("id").text)
    let none = await sandbox.run("incidents", other, store: url)
    #expect(none.status == .missing && none.notes.contains("no-bytes"), "\(none)")
    for name in ["0", "", "ffffffffffffffff0"] {
      #expect(await sandbox.run("incidents", name, store: url).status != .success)
    }
  }

  @Test(
    "Writes that were set aside need care until they are acknowledged, also in a copy, and a new one does again",
    arguments: persistentBackends)
  func acknowledged(backend: String) async throws {
    let url = sandbox.url(backend)
    try await report(backend, .writeSetAside, "write 9", [9])
    try await report(backend, .writeSetAside, "write 10", [10])
    try await report(backend, .recordSetAside, "a pin", [1])
    #expect(try sandbox.doctor([url]).cares == ["writes-set-aside"])
    let rows = try await list(url)
    let first = try #require(rows.first { $0.member("place") == "write 9" }?.member("id").text)

    let one = await sandbox.run("incidents", first, "--acknowledge", "--json", store: url)
    #expect(one.line == #"{"acknowledged":1}"#, "\(one)")
    let half = try sandbox.doctor([url])
    #expect(half.cares == ["writes-set-aside"])
    #expect(half[Path("incidents/writeSetAside/count")] == 1)
    #expect(half[Path("incidents/writeSetAside/acknowledged")] == 1)

    // As the doctor says.
    let remedy = try #require(half.remedy("writes-set-aside"))
    let command = "conifer incidents --acknowledge --store '\(url)'"
    #expect(remedy.contains(command), "\(remedy)")
    #expect(try sandbox.shell(command).status == 0)
    let after = try sandbox.doctor([url])
    #expect(after.cares.isEmpty)
    #expect(after.findings.map(\.code).contains("records-set-aside"))
    #expect(try sandbox.spawn("verify", "--store", url).status == 0)
    // They are still there, with their bytes.
    let kept = try await list(url)
    #expect(kept.count == 3)
    #expect(kept.filter { $0.member("acknowledged").leaf == .bool(true) }.count == 2)
    #expect(
      await sandbox.run("incidents", first, "--json", store: url).line
        .contains(#""content":"CQ==""#))
    #expect(
      await sandbox.run("incidents", "--acknowledge", store: url).line
        == "acknowledged: 0 reports of writes that were set aside")

    let copy = sandbox.url(backend == "log" ? "sqlite" : "log", "copy")
    #expect(try sandbox.spawn("migrate", url, copy).status == 0)
    #expect(try sandbox.doctor([copy]).cares.isEmpty)

    try await report(backend, .writeSetAside, "write 11", [9])
    #expect(try sandbox.doctor([url]).cares == ["writes-set-aside"])
  }

  @Test("Two reports that begin alike are not confused")
  func prefix() async throws {
    let url = sandbox.url("sqlite")
    for number in 0..<20 {
      try await report("sqlite", .writeSetAside, "write \(number)", [UInt8(number)])
    }
    let ids = try await list(url).compactMap { $0.member("id").text }
    #expect(Set(ids).count == 20)
    // Of twenty ids, two begin with the same of sixteen digits.
    let digit = try #require(
      ids.compactMap(\.first).first { digit in
        ids.filter { $0.first == digit }.count > 1
      })
    let output = await sandbox.run("incidents", String(digit), store: url)
    #expect(output.status == .usage, "\(output)")
  }
}
