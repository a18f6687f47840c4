#if Network
  import ConiferTree
  import Foundation
  import TestSupport
  import Testing

  @testable import ConiferTool

  #if canImport(FoundationNetworking)
    import FoundationNetworking
  #endif

  @Suite(.enabled(if: Repository.tool != nil, "The built tool is not beside the tests."))
  struct InspectTests {
    let sandbox: Sandbox

    init() throws { sandbox = try Sandbox() }

    @Test(arguments: knownBackends)
    func `A store is shown in the browser, and none of its bytes changes`(
      backend: String
    ) async throws {
      let url = sandbox.url(backend)
      try await sandbox.fill(url)
      let before = try sandbox.files("store")
      let program = try RunningProgram(
        try #require(Repository.tool), ["inspect", "--port", "0", "--store", url], output: .read)
      defer { program.kill() }
      var told: [UInt8] = []
      while !told.contains(0x0A) {
        let more = try program.read()
        if more.isEmpty { break }
        told += more
      }
      let address = String(decoding: told, as: UTF8.self).split(separator: "\n").first ?? ""
      func get(_ path: String) async throws -> String {
        let place = try #require(URL(string: address + path))
        let (data, _) = try await URLSession.shared.data(from: place)
        return String(decoding: data, as: UTF8.self)
      }
      #expect(try await get("").hasPrefix("<!DOCTYPE html>"))
      let facts = try Node(json: try await get(".conifer/info.json"))
      #expect(facts.member("title").text == url && facts.member("writable").leaf == .bool(false))
      #expect(facts.member("spaces").children.contains { $0.node.leaf == .string("main") })
      for table in ["queries", "pins", "queue", "dead", "bytes"] {
        let text = try await get(".conifer/table.json?space=main&name=\(table)")
        #expect(!(try Node(json: text)).member("columns").isEmpty, "\(text)")
      }
      #expect(!(try Node(json: try await get(".conifer/export.json?space=main"))).isEmpty)
      program.signal(SIGINT)
      #expect(program.waitForEnd() == .exited(0))
      #expect(try sandbox.files("store") == before)
    }

    @Test func `Without a store there is nothing to show`() async throws {
      let missing = try sandbox.spawn("inspect", "--store", sandbox.url("lmdb"))
      #expect(missing.status == ToolStatus.missing.rawValue)
      #expect(
        try sandbox.spawn("inspect", "--store", "memory://").status == ToolStatus.usage.rawValue)
    }
  }
#endif
