import ConiferStorage
import ConiferTree

/// The result of verifying a store in a process of its own.
struct StoreVerification {
  /// Files that say who has a store open, and are nothing of its data.
  static let locks: Set<String> = ["owner", "lock.mdb"]

  private let report: Node
  /// How the process died, if it did, and what it was reading then.
  let death: String?

  init(report: Node, death: String? = nil) { (self.report, self.death) = (report, death) }

  /// Checks a store; nothing in it is evicted or dropped meanwhile.
  ///
  /// - Parameter directory: that of a copy that is checked in place of the store; what is told names the store.
  /// - Throws: a `Failure` when it cannot be opened; `not-checked` for what says nothing about the store: a process that
  ///   cannot be started or was killed, and a copy that cannot be read or written.
  static func run(
    _ address: StoreAddress, at directory: String? = nil, _ console: Console
  ) throws -> StoreVerification {
    var bar: Progress?
    defer { bar?.finish() }
    var last = "the files"
    let url = address.url(
      at: directory, [("budget", "unlimited"), ("role", StoreRole.authority.rawValue)])
    let key = address.keyFile.map { ["--key-file", $0] } ?? []
    let end = try Failure.asNotChecked {
      try Worker.run(["verify-worker", "--store", url] + key) { told in
        let bytes = told.member("bytes").count ?? 0
        last = "\(told.member("phase").text ?? ""), behind \(Figures.bytes(bytes))"
        let expected = told.member("expected").count ?? 0
        if expected > 0 {
          if bar == nil { bar = Progress("checking", total: expected, console) }
          bar?.advance(to: bytes)
        }
      }
    }
    func words(_ text: String) -> String {
      directory.map { text.replacing($0, with: address.directory) } ?? text
    }
    switch end {
    case .result(let report):
      return StoreVerification(report: report.mappingTexts(words), death: nil)
    case .stopped(let how): throw Failure.stopped(how)
    case .died(let how):
      return StoreVerification(
        report: .empty, death: "the engine died (\(how)) reading \(last)")
    case .failure(let failure):
      let message = words(failure.message)
      guard failure.status == .damaged else {
        let told = Failure(failure.code, failure.status, message)
        throw directory != nil && told.isOfCopy ? Failure.notChecked(told) : told
      }
      return StoreVerification(report: .empty, death: "opening failed: \(message)")
    }
  }

  var isSound: Bool { death == nil && report.member("sound").leaf == .bool(true) }
  var found: Int { (report.member("found").count ?? 0) + (death == nil ? 0 : 1) }

  var findings: [(kind: String, place: String, words: String)] {
    report.member("findings").children.map { child in
      let finding = child.node
      return (
        finding.member("kind").text ?? "", finding.member("place").text ?? "",
        finding.member("words").text ?? ""
      )
    }
  }

  /// Whether the records were left out, since reading them from damaged files is not safe.
  var isPartial: Bool { report.member("partial").leaf == .bool(true) }
  /// How many there are of something, by its name in the report; 0 where nothing was counted.
  func count(_ name: String) -> Int { report.member("counts").member(name).count ?? 0 }

  /// Records whose encryption key is missing: no findings.
  var locked: [Node] { report.member("locked").children.map(\.node) }

  /// What the store reports that it lost or set aside, since whenever: no findings.
  private var incidents: [String] {
    report.member("incidents").children.compactMap { $0.node.text }
  }

  /// What opening the store reported of it, and stored there.
  var opening: String? { report.member("opening").text }

  /// The report for people.
  var lines: [String] {
    var table = Table()
    for child in report.member("counts").children {
      guard let count = child.node.count else { continue }
      table.add(Self.words(child.key.string), Figures.count(count))
    }
    var lines = table.lines
    for (kind, place, words) in findings { lines.append("\(kind): \(place): \(words)") }
    for records in locked { lines.append("not checked: \(records.member("text").text ?? "")") }
    if let opening { lines.append("reported when it was opened: \(opening)") }
    for incident in incidents where incident != opening { lines.append("incident: \(incident)") }
    if let death { lines.append(death) }
    let told = findings.count + (death == nil ? 0 : 1)
    if found > told { lines.append("and \(found - told) more findings") }
    if isPartial {
      lines.append("records were not checked: reading them from damaged files is not safe")
    }
    return lines + [isSound ? "sound" : "not sound"]
  }

  /// The report for programs.
  var json: Report {
    .object([
      ("sound", .bool(isSound)), ("found", .integer(found)),
      ("partial", .bool(isPartial || death != nil)),
      ("death", .optional(death)),
      (
        "locked",
        .list(locked.map { .object($0.children.map { ($0.key.string, .node($0.node)) }) })
      ),
      (
        "findings",
        .list(
          report.member("findings").children.map { child in
            .object(child.node.children.map { ($0.key.string, .node($0.node)) })
          })
      ),
      ("opening", .optional(opening)),
      ("incidents", .list(incidents.map { .string($0) })),
      ("counts", .object(report.member("counts").children.map { ($0.key.string, .node($0.node)) })),
    ])
  }

  /// `largeLeaves` as `large leaves`.
  private static func words(_ name: String) -> String {
    name.reduce(into: "") { text, letter in
      text += letter.isUppercase ? " \(letter.lowercased())" : String(letter)
    }
  }
}

extension Node {
  /// The same node with other texts.
  fileprivate func mappingTexts(_ body: (String) -> String) -> Node {
    if let text { return Node(.string(body(text))) }
    return isLeaf ? self : Node(children: children.map { ($0.key, $0.node.mappingTexts(body)) })
  }
}
