import ConiferKeyValue
import ConiferLMDB
import ConiferStorage
import ConiferTree
import Testing

@testable import ConiferTool

@Suite struct DocumentTests {
  @Test("The README's sample runs")
  func sample() async throws {
    let sandbox = try Sandbox()
    let directory = sandbox.path("store")
    // README begins
    let backend = try StorageConfiguration.lmdb(at: directory).open()
    let tree = try await backend.tree(named: "main")
    try await backend.commit([
      .overwrite(tree, "/scores", ["linhenykus": 80, "stegosaurus": 5]),
      .enqueue(Lane(tree: tree), .set("/scores/stegosaurus", 7)),
    ])
    let best = try backend.read { view throws(StoreError) in
      try view.node(tree, "/scores/linhenykus")
    }
    try await backend.close()
    // README ends
    #expect(best == 80)
  }

  @Test("The README's sample of the storage is the one that runs")
  func sameSample() throws {
    let readme = try lines("README.md")
    let fence = try #require(readme.lastIndex(of: "```swift"))
    let sample = readme[(fence + 1)...].prefix { $0 != "```" }.filter { !$0.isEmpty }
    let source = try lines("Tests/ConiferToolTests/DocumentTests.swift")
    let begin = try #require(source.firstIndex(of: "    // README begins"))
    let body = source[(begin + 1)...].prefix { $0 != "    // README ends" }
    let imports = source.filter { $0.hasPrefix("import ") && $0 != "import Testing" }
    #expect(sample == imports + body.map { String($0.dropFirst(4)) })
  }

  @Test("Every exit status and every command is documented")
  func documented() async throws {
    let text = try lines("Docs/Tool.md").joined(separator: "\n")
    for status in ToolStatus.allCases { #expect(text.contains("\n| \(status.rawValue) |")) }
    let help = await (try Sandbox()).run("--help").text
    let commands = help.split(separator: "\n").drop { $0 != "SUBCOMMANDS:" }
      .compactMap { line -> Substring? in
        line.hasPrefix("  ") && !line.hasPrefix("   ") && !line.hasPrefix("  See ")
          ? line.split(separator: " ").first : nil
      }
    #expect(commands.count > 10)
    for command in commands { #expect(text.contains("`\(command)"), "\(command)") }
    let own = Tool.registry.kinds.flatMap(\.options)
    #expect(!own.isEmpty)
    for option in StorageKind.commonOptions + own { #expect(text.contains("| `\(option.name)` |")) }
  }

  @Test("Every error of a store has an exit status of its meaning")
  func statuses() {
    let expected: [(StoreError.Code, ToolStatus)] = [
      (.busy, .busy), (.denied, .denied), (.deviceLocked, .denied), (.full, .full), (.io, .io),
      (.poisoned, .io), (.damaged, .damaged), (.newerFormat, .foreign), (.foreign, .foreign),
      (.wrongKey, .denied), (.tooLarge, .badData), (.invalid, .usage), (.closed, .internal),
      (.suspended, .internal), (.unsupported, .usage),
    ]
    for (code, status) in expected {
      let failure = Failure(StoreError(code, "It went wrong.", cause: "why"))
      #expect(failure?.status == status)
      #expect(failure?.description == "\(code): It went wrong. (why)")
    }
  }

  private func lines(_ file: String) throws -> [String] {
    String(decoding: try contents("\(Repository.root)/\(file)"), as: UTF8.self)
      .split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
  }
}
