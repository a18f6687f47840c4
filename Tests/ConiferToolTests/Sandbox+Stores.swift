import ConiferDocument
import ConiferKeyValue
import ConiferStorage
import ConiferTree
import Testing

@testable import ConiferTool

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

extension Node {
  /// The findings of a report of the doctor.
  var findings: [(code: String, needsCare: Bool, remedy: String)] {
    member("findings").children.map(\.node).map { finding in
      (
        finding.member("code").text ?? "", finding.member("needsCare").leaf == .bool(true),
        finding.member("remedy").text ?? ""
      )
    }
  }

  /// The codes of those that need care.
  var cares: [String] { findings.filter(\.needsCare).map(\.code) }

  /// What helps against one, by the doctor.
  func remedy(_ code: String) -> String? { findings.first { $0.code == code }?.remedy }
}

extension Sandbox {
  /// Runs the built tool as a process and gives its status and what it printed.
  func spawn(_ arguments: [String]) throws -> (status: Int32, text: String) {
    let tool = try #require(Repository.tool)
    let child = try ChildProcess(arguments, of: tool)
    var lines: [String] = []
    while let line = try child.line() { lines.append(line) }
    guard case .exited(let status) = try child.wait() else { return (-1, "killed") }
    return (status, lines.joined(separator: "\n"))
  }

  func spawn(_ arguments: String...) throws -> (status: Int32, text: String) {
    try spawn(arguments)
  }

  /// Runs a line in a shell that finds the built tool as `conifer`, and gives its status and what it printed, also as errors.
  ///
  /// - Parameter environment: more variables.
  func shell(
    _ line: String, _ environment: [String: String] = [:]
  ) throws -> (status: Int32, text: String) {
    let tool = try #require(Repository.tool)
    let bin = path("bin")
    if !Platform.exists(bin) {
      _ = try Directory.make(bin)
      try #require(symlink(tool, bin + "/conifer") == 0)
    }
    let child = try ChildProcess(
      environment.map { "\($0.key)=\($0.value)" } + [
        "/bin/sh", "-c", #"PATH="$0:$PATH"; cd "$1" && eval "$2" 2>&1"#, bin, directory, line,
      ], of: "/usr/bin/env")
    var lines: [String] = []
    while let line = try child.line() { lines.append(line) }
    guard case .exited(let status) = try child.wait() else { return (-1, "killed") }
    return (status, lines.joined(separator: "\n"))
  }

  /// What the doctor says of a store; its status must agree with what it says.
  func doctor(
    _ arguments: [String], _ environment: [String: String] = [:]
  ) throws -> Node {
    let line = (["conifer", "doctor"] + arguments + ["--json", "2>/dev/null"])
      .map { $0.hasPrefix("2>") ? $0 : $0.quoted }.joined(separator: " ")
    let (status, text) = try shell(line, environment)
    let report = try Node(json: text)
    let isHealthy = report.member("healthy").leaf == .bool(true)
    #expect(status == (isHealthy ? 0 : ToolStatus.care.rawValue), "\(text)")
    #expect(report.findings.contains { $0.needsCare } != isHealthy, "\(text)")
    return report
  }

  /// Fills a store with data of every kind.
  func fill(_ url: String, rooms: Int = 6) async throws {
    let configuration = try Tool.registry.configuration(
      url, defaults: StorageOptions(budget: nil))
    try await StoreOptions.opened(configuration) { backend in
      let tree = try await backend.tree(named: "main")
      let other = try await backend.tree(named: "docs", order: .utf8)
      _ = try await backend.tree(named: "empty")
      for number in 0..<rooms {
        let path = Path("rooms/r\(number)")
        let room = Node(
          children: (0..<80).map { message in
            let text = "message \(message) of room \(number), with words that make it longer"
            return (
              Key("m\(message)"),
              ["text": Node(.string(text)), "ts": Node(.integer(Int64(message)))] as Node
            )
          }, priority: Priority(Int64(number)))
        try await backend.commit([
          .overwrite(tree, path, room),
          .saveQuery(
            TrackedQuery(
              tree: tree, path: path, isComplete: true, lastUse: UInt64(number + 3),
              resumeToken: [UInt8(number)])),
        ])
      }
      try await backend.commit([
        .overwrite(tree, "large/leaf", Node(.string(String(repeating: "large ", count: 60_000)))),
        .overwrite(other, "é/\u{10000}", 1), .overwrite(other, "é/\u{FFFF}", 2.5),
        .overwrite(tree, "rooms/r1/m7/text", "changed"),
        .pin(Pin(tree: tree, path: "rooms/r1")), .setMetadata(tree, "cursor", [1, 2, 3]),
        .setMetadata(other, "name with spaces", []),
      ])
      let query = try await backend.commit([
        .saveQuery(
          TrackedQuery(tree: tree, path: "rooms", parameters: "{\"l\":2}", isComplete: true))
      ]).queries[0]
      try await backend.commit([.setTrackedKeys(tree, query, ["r0", "r1"])])
      for identity in ["ann", ""] {
        let lane = Lane(tree: tree, identity: identity)
        for number in 0..<30 {
          try await backend.commit([
            .enqueue(
              lane, .set(Path("rooms/r\(number)/m1"), Node(.integer(Int64(number))), time: 7))
          ])
        }
        try await backend.commit([
          .enqueue(
            lane, .set("big", Node(.string(String(repeating: "big ", count: 100_000))))),
          .finish(lane, WriteID(rawValue: 1), .acknowledged),
          .finish(lane, WriteID(rawValue: 4), .superseded(by: WriteID(rawValue: 5))),
          .setState(lane, WriteID(rawValue: 2), .sent),
          .setState(lane, WriteID(rawValue: 3), .rejected(reason: "no")),
          .setState(lane, WriteID(rawValue: 6), .outcomeUnknown),
        ])
      }
      let ben = Lane(tree: other, identity: "ben")
      try await backend.commit([
        .reserveWriteIDs(ben, through: WriteID(rawValue: 99)),
        .report(
          Incident(kind: .writeSetAside, tree: tree, place: "write 9 of \"ann\"", bytes: [9, 9])),
      ])
      try await fillDocuments(backend)
      while try await backend.tidy(.milliseconds(50)) {}
    }
  }

  /// Fills a tree of documents: what the server said, what a query matches, and writes that wait.
  private func fillDocuments(_ backend: any StorageBackend) async throws {
    let tree = try await backend.tree(named: "documents", order: .documents)
    let lane = Lane(tree: tree, identity: "ann")
    var documents: [Document] = []
    for collection in ["rooms", "rooms/r1/messages", "rooms/r2/messages"] {
      for number in 0..<300 {
        let fields: MapValue = [
          "n": .integer(Int64(number)), "text": .string("document \(number) of \(collection)"),
          "where": ["floor": 2.5, "tags": ["a", .bytes([0, 255])]],
        ]
        let id = number % 7 == 0 ? "__id\(number)__" : "d\(number)"
        documents.append(
          Document(
            try DocumentPath("\(collection)/\(id)"), number % 50 == 1 ? .missing : .found(fields),
            version: try Timestamp(seconds: Int64(number)), readTime: try Timestamp(seconds: 400)))
      }
    }
    let large = MapValue([("text", .string(String(repeating: "large ", count: 100_000)))])
    documents.append(Document(try DocumentPath("rooms/large"), .found(large)))
    try await backend.commit([.documents(tree, documents.map { .put($0) })])
    let database = DatabaseID(project: "p")
    let messages = DocumentQuery(.group("messages"), in: database).target
    let query = try await backend.commit([
      .saveQuery(TrackedQuery(lane, messages, isComplete: true, resumeToken: [1]))
    ]).queries[0]
    let matches = documents.map(\.path).filter { $0.collection.id == "messages" }
    try await backend.commit([.documents(tree, [.setMatches(query, matches)])])
    for document in documents.prefix(20) {
      let write = try Mutation.merge(document.path, [("n", .increment(1))], in: database)
      let batch = MutationBatch([write], written: .zero) { _ in document }
      try await backend.commit([.enqueue(lane, batch.payload)])
    }
    try await backend.commit([
      .setState(lane, WriteID(rawValue: 3), .rejected(reason: "no")),
      .finish(lane, WriteID(rawValue: 4), .discarded),
    ])
  }

  /// The digest of a store.
  func digest(_ url: String) async throws -> StoreDigest {
    let configuration = try Tool.registry.configuration(
      url, defaults: StorageOptions(budget: nil))
    return try await StoreOptions.opened(configuration) { try await StoreDigest.of($0) }
  }

  /// The bytes of a store's files, but for those that only say who has it open.
  func files(_ name: String) throws -> [String: [UInt8]] {
    var files: [String: [UInt8]] = [:]
    for file in try Directory.names(in: path(name)) where !StoreVerification.locks.contains(file) {
      files[file] = try Platform.contents(path("\(name)/\(file)"))
    }
    return files
  }
}
