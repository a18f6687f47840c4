import ConiferKeyValue
import ConiferStorage
import ConiferTree

extension Judge {
  /// What is told of any store, as far as it is known.
  var facts: [DoctorFact] {
    [store, versions, owner, mark, files, disk, budgeted, held, queue, reports, tidying, checked]
      .compactMap(\.self)
  }

  private var store: DoctorFact? {
    let format = inside.member("format").count
    let isEncrypted = inside.member("encrypted").leaf == .bool(true)
    var words = [url]
    if let format { words.append("records in format \(format)") }
    if isEncrypted { words.append("encrypted") }
    return DoctorFact(
      "store", words.joined(separator: ", "),
      .object([
        ("url", .string(url)), ("kind", .string(examination.address.kind.name)),
        ("format", .optional(format)), ("encrypted", format == nil ? .null : .bool(isEncrypted)),
      ]))
  }

  private var versions: DoctorFact? {
    let versions = [
      ConiferCommand.version, examination.address.kind.library, Compression.library,
    ].compactMap(\.self)
    return DoctorFact(
      "versions", versions.joined(separator: "; "), .list(versions.map { .string($0) }))
  }

  private var owner: DoctorFact? {
    guard let owner = examination.owner else { return nil }
    let process: Int32?
    var isOpen = true
    switch owner {
    case .nobody: (process, isOpen) = (nil, false)
    case .leftBehind(let last): (process, isOpen) = (last, false)
    case .process(let number, _, _): process = number
    }
    return DoctorFact(
      "owner", Self.words(owner),
      .object([
        ("open", .bool(isOpen)), ("process", .optional(process.map { Int($0) })),
        ("words", .string(Self.words(owner))),
      ]))
  }

  static func words(_ owner: StoreOwner) -> String {
    switch owner {
    case .nobody: "nobody has it open"
    case .leftBehind(let last): "nobody has it open; process \(last) ended without closing it"
    case .process(nil, _, _): "a process that is not known"
    case .process(let number?, let program, true):
      "process \(number)" + (program.map { " (\($0))" } ?? "") + ", which runs"
    case .process(let number?, _, false):
      "a process that is not known; the file names \(number), which does not run here"
    }
  }

  private var mark: DoctorFact? {
    examination.mark.map { DoctorFact("mark", $0, .string($0)) }
  }

  private var files: DoctorFact? {
    guard !examination.files.isEmpty else { return nil }
    let bytes = examination.files.reduce(0) { $0 + $1.bytes }
    let size = inside.member("size")
    var words = "\(examination.files.count), \(Figures.bytes(bytes))"
    if let live = size.member("live").count, let free = size.member("free").count {
      words += ": \(Figures.bytes(live)) live, \(Figures.bytes(free)) free"
    }
    return DoctorFact(
      "files", words,
      .object([
        ("count", .integer(examination.files.count)), ("bytes", .integer(bytes)),
        ("live", .optional(size.member("live").count)),
        ("free", .optional(size.member("free").count)),
      ]))
  }

  private var disk: DoctorFact? {
    examination.freeSpace.map { DoctorFact("disk", "\(Figures.bytes($0)) free", .integer($0)) }
  }

  private var budgeted: DoctorFact? {
    guard let cache = inside.member("cache").count else { return nil }
    let limit =
      budget.map { "of a budget of \(Figures.bytes($0))" } ?? "and the URL names no budget"
    let pinned = inside.member("pinned").count ?? 0
    return DoctorFact(
      "cache", "\(Figures.bytes(cache)), of it pinned \(Figures.bytes(pinned)), \(limit)",
      .object([
        ("bytes", .integer(cache)), ("pinned", .integer(pinned)), ("budget", .optional(budget)),
      ]))
  }

  private var held: DoctorFact? {
    guard !inside.isEmpty else { return nil }
    let words = trees.map { tree in
      "\(values.name(tree.member("name").text ?? "")) (\(tree.member("order").text ?? ""), "
        + "\(Figures.count(tree.member("leaves").count ?? 0)) leaves, "
        + "\(Figures.bytes(tree.member("bytes").count ?? 0)))"
    }
    return DoctorFact(
      "trees", words.isEmpty ? "none" : words.joined(separator: ", "),
      .list(
        trees.map { tree in
          .object([
            ("name", values.report(tree.member("name").text ?? "")),
            ("order", .string(tree.member("order").text ?? "")),
            ("leaves", .optional(tree.member("leaves").count)),
            ("bytes", .optional(tree.member("bytes").count)),
            ("incompleteQueries", .optional(tree.member("incomplete").count)),
          ])
        }))
  }

  private var queue: DoctorFact? {
    guard !inside.isEmpty else { return nil }
    let (waiting, rejected, bytes) = (total("waiting"), total("rejected"), total("bytes"))
    let age = oldest.map { ", the oldest for \(Figures.age(milliseconds: $0))" } ?? ""
    return DoctorFact(
      "queue",
      "\(Figures.some(waiting, "write")) waiting\(age), \(Figures.count(rejected)) rejected, \(Figures.bytes(bytes))",
      .object([
        ("waiting", .integer(waiting)), ("rejected", .integer(rejected)),
        ("unknown", .integer(total("unknown"))), ("bytes", .integer(bytes)),
        ("oldest", .optional(oldest.map { Int(clamping: $0) })),
        (
          "lanes",
          .list(
            lanes.map { lane in
              .object([
                ("identity", values.report(lane.member("identity").text ?? "")),
                ("waiting", .optional(lane.member("waiting").count)),
                ("rejected", .optional(lane.member("rejected").count)),
              ])
            })
        ),
      ]))
  }

  private var reports: DoctorFact? {
    guard !inside.isEmpty else { return nil }
    let words = incidents.map { reports in
      "\(reports.kind) \(Figures.count(reports.count))"
        + (reports.acknowledged > 0
          ? " (and \(Figures.count(reports.acknowledged)) acknowledged)" : "")
    }
    return DoctorFact(
      "incidents", words.isEmpty ? "none" : words.joined(separator: ", "),
      .object(
        incidents.map { reports in
          (
            reports.kind,
            .object([
              ("count", .integer(reports.count)), ("withBytes", .integer(reports.withBytes)),
              ("acknowledged", .integer(reports.acknowledged)),
            ])
          )
        }))
  }

  private var tidying: DoctorFact? {
    let after = inside.member("tidying")
    guard let records = inside.member("records").count, let tidied = after.member("records").count,
      let file = inside.member("size").member("file").count,
      let shrunk = after.member("size").member("file").count
    else { return nil }
    let end = after.member("done").leaf == .bool(true) ? "" : ", and is not at its end then"
    return DoctorFact(
      "tidying",
      "takes the records from \(Figures.bytes(records)) to \(Figures.bytes(tidied)), the files from "
        + "\(Figures.bytes(file)) to \(Figures.bytes(shrunk))\(end)",
      .object([
        ("records", .integer(tidied)), ("files", .integer(shrunk)),
        ("givesBack", .integer(max(0, file - shrunk))),
        ("newDictionaries", .integer(newDictionaries)),
        ("done", .bool(after.member("done").leaf == .bool(true))),
      ]))
  }

  private var checked: DoctorFact? {
    guard let verification = examination.verification else {
      return DoctorFact("checked", "nothing", .object([("records", .integer(0))]))
    }
    let records = verification.count("records")
    let end = verification.isSound ? "sound" : Figures.some(verification.found, "finding")
    return DoctorFact(
      "checked", "\(Figures.some(records, "record")): \(end)",
      .object([
        ("records", .integer(records)), ("sound", .bool(verification.isSound)),
        ("found", .integer(verification.found)),
      ]))
  }

  /// How many dictionaries tidying makes more than there are.
  var newDictionaries: Int {
    let before = inside.member("dictionaries").count ?? 0
    return max(0, (inside.member("tidying").member("dictionaries").count ?? before) - before)
  }
}
