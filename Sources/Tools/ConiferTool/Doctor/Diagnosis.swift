import ConiferKeyValue
import ConiferStorage
import ConiferTree

/// What an examination says of a store: facts, and findings with what helps.
struct Diagnosis {
  private(set) var facts: [DoctorFact] = []
  private(set) var findings: [DoctorFinding] = []

  /// What needs care.
  var cares: [DoctorFinding] { findings.filter(\.needsCare) }

  /// Judges an examination.
  ///
  /// - Parameters:
  ///   - values: whether names and values of the data are shown.
  ///   - now: the time, in milliseconds since 1970.
  init(_ examination: Examination, _ values: HiddenValues, now: Int64) {
    let judge = Judge(examination: examination, values: values, now: now)
    facts = judge.facts
    let all = judge.findings
    // What needs care comes first.
    findings = all.filter(\.needsCare) + all.filter { !$0.needsCare }
  }

  /// The report for people.
  var lines: [String] {
    var table = Table()
    for fact in facts { table.add(fact.name, fact.words) }
    let lines =
      table.lines + findings.flatMap(\.lines)
      + [cares.isEmpty ? "healthy" : "\(Figures.some(cares.count, "thing")) to take care of"]
    return lines.map(\.shown)
  }

  /// The report for programs.
  var json: Report {
    var members: [(String, Report)] = [("healthy", .bool(cares.isEmpty))]
    members += facts.map { ($0.name, $0.report) }
    members.append(("findings", .list(findings.map(\.report))))
    return .object(members)
  }
}

/// Turns an examination into facts and findings.
struct Judge {
  let examination: Examination
  let values: HiddenValues
  let now: Int64

  /// What the open copy told of itself.
  var inside: Node { examination.inside }

  /// The store as a command names it.
  var url: String {
    values.hides ? examination.address.plain("STORE") : examination.address.url()
  }

  /// The store's directory.
  var directory: String { values.hides ? "STORE" : examination.directory }

  /// The end of a command on the store.
  var target: String {
    let key = examination.address.keyFile == nil ? "" : " --key-file FILE"
    return "--store '\(url)'\(key)"
  }

  /// The cache's budget, as the URL says it.
  var budget: Int? {
    let defaults = StorageOptions(budget: nil)
    let named = try? Tool.registry.configuration(examination.address.text, defaults: defaults)
    return named?.options.budget
  }

  /// All trees of the store.
  var trees: [Node] { inside.member("trees").children.map(\.node) }

  /// All queues of the store.
  var lanes: [Node] { trees.flatMap { $0.member("lanes").children.map(\.node) } }

  /// A number of all queues together.
  func total(_ name: String) -> Int { lanes.reduce(0) { $0 + ($1.member(name).count ?? 0) } }

  /// How long the oldest waiting write waits, in milliseconds; nil when none waits, or none says when it was made.
  var oldest: Int64? {
    lanes.compactMap { $0.member("oldest").count }.min().map { now - Int64($0) }
  }

  /// Reports of one kind.
  struct Reports {
    let kind: String
    /// How many there are, without those that somebody has acknowledged.
    var count = 0
    /// How many of these have kept the bytes.
    var withBytes = 0
    var acknowledged = 0
  }

  /// What the store has lost or set aside, by kind, without what only opening the copy has reported.
  var incidents: [Reports] {
    var all: [Reports] = []
    let opening = examination.verification?.opening
    for incident in inside.member("incidents").children.map(\.node) {
      let kind = incident.member("kind").text ?? ""
      let place = incident.member("place").text ?? ""
      if incident.member("tree").isEmpty, opening?.contains(place) == true { continue }
      let at = all.firstIndex { $0.kind == kind } ?? all.count
      if at == all.count { all.append(Reports(kind: kind)) }
      if incident.member("acknowledged").leaf == .bool(true) {
        all[at].acknowledged += 1
      } else {
        all[at].count += 1
        if (incident.member("bytes").count ?? 0) > 0 { all[at].withBytes += 1 }
      }
    }
    return all.sorted { $0.kind < $1.kind }
  }
}
