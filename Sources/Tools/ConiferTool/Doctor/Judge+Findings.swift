import ConiferKeyValue
import ConiferStorage
import ConiferTree

extension Judge {
  /// The free bytes below which a disk counts as nearly full, whatever the store's size.
  private static let leastFree = 64 << 20

  /// All that was found.
  var findings: [DoctorFinding] {
    refused + owned + verified + lost + queued + built + tidied + space + beside
  }

  /// A remedy that changes the store: nothing is to be changed in one that is not sound.
  private func changing(_ remedy: String) -> String {
    let isSound = examination.verification.map(\.isSound) ?? true
    return isSound ? remedy : "First take care of the damage: this would change the store."
  }

  // MARK: Who has it

  private var owned: [DoctorFinding] {
    let helps =
      "Close it there, or suspend it (Database.suspend()), and try again; conifer verify --copy checks a copy of a "
      + "store in use, which may be torn."
    switch examination.owner {
    case .process(let number, _, let isRunning)?:
      let who = Self.words(.process(number, program: nil, isRunning: isRunning))
      return [
        DoctorFinding(
          "busy", needsCare: true, "Somebody has the store open, so it was not checked: \(who).",
          helps)
      ]
    case .leftBehind(let last)?:
      return [
        DoctorFinding(
          "left-behind",
          "Process \(last) had the store last and ended without closing it: it was killed, or it crashed. "
            + "Opening recovers the store.")
      ]
    case .nobody?, nil: return []
    }
  }

  // MARK: What a check found

  private var verified: [DoctorFinding] {
    guard let verification = examination.verification else { return writable }
    var found: [DoctorFinding] = []
    if !verification.isSound {
      found.append(
        DoctorFinding(
          "damaged", needsCare: true, damage(verification),
          "conifer verify --copy \(target) lists all. \(salvaging)"))
    }
    if let opening = verification.opening { found.append(reported(opening)) }
    if let silence = examination.silence {
      let isOfCopy = silence.isOfCopy
      found.append(
        DoctorFinding(
          "not-checked", needsCare: true,
          "Queue, space and reports could not be read. "
            + values.sentence(silence.message, orElse: "The copy could not be read."),
          isOfCopy ? checkingAgain : salvaging))
    }
    let locked = verification.locked.reduce(0) { $0 + ($1.member("records").count ?? 0) }
    if locked > 0 {
      found.append(
        DoctorFinding(
          "locked-records",
          "\(Figures.some(locked, "record")) cannot be read, because their key was erased or is only the app's.",
          "conifer verify \(target) names them."))
    }
    if verification.count("unknown") > 0 {
      found.append(
        DoctorFinding(
          "later-records",
          "Kept and not understood: \(Figures.some(verification.count("unknown"), "record")) of a later version of Conifer.",
          "Update the app and this tool."))
    }
    return found + writable
  }

  /// What the next opening will report.
  private func reported(_ opening: String) -> DoctorFinding {
    guard opening.contains("durable commits") else {
      return DoctorFinding(
        "opening-reports", needsCare: true,
        values.sentence(
          "The next opening will report: \(opening).",
          orElse: "The next opening will report something that was damaged or set aside."),
        "Open the store: it goes on, and reports this once; conifer incidents \(target) lists it then."
      )
    }
    return DoctorFinding(
      "lost-commits", needsCare: true,
      values.sentence(
        "The next opening will report: \(opening).",
        orElse: "The next opening will report that the newest durable commits are missing."),
      "Put back a newer copy of the store, if there is one. Without, open it: it goes on from what is there, "
        + "and reports this once.")
  }

  private var writable: [DoctorFinding] {
    guard !examination.isWritable, examination.refusal == nil else { return [] }
    return [
      DoctorFinding(
        "read-only", needsCare: true,
        "This user may read the store and not change it, so that it cannot be opened, not even to read.",
        "Run commands as the user that owns the directory, or give yours the right to write to it and its files."
      )
    ]
  }

  private var salvaging: String {
    let keys =
      examination.address.keyFile == nil ? "" : " --from-key-file FILE --to-key-file NEW-FILE"
    return
      "Copy the directory first. An app's cache that can still be opened mends itself: damaged data is fetched again, "
      + "damaged writes are set aside with their bytes. Otherwise openOrSalvage() in the app, or conifer salvage "
      + "'\(url)' NEW-URL\(keys), saves what can be read into a new store, queues first."
  }

  /// What is damaged, in words: by kind, with the first places.
  private func damage(_ verification: StoreVerification) -> String {
    var parts: [String] = []
    if let death = verification.death {
      parts.append(values.sentence(death, orElse: "opening it or reading it failed"))
    }
    var kinds: [(kind: String, places: [String])] = []
    for finding in verification.findings {
      let place =
        values.hides ? values.name(finding.place) : "\(finding.place) (\(finding.words))"
      if let known = kinds.firstIndex(where: { $0.kind == finding.kind }) {
        kinds[known].places.append(place)
      } else {
        kinds.append((finding.kind, [place]))
      }
    }
    for (kind, places) in kinds {
      let more = places.count > 3 ? ", and \(Figures.count(places.count - 3)) more" : ""
      parts.append(
        "\(Self.plain(kind)) (\(kind)): \(places.prefix(3).joined(separator: "; "))\(more)")
    }
    if verification.isPartial {
      parts.append(
        "the records were not checked, since reading them from damaged files is not safe")
    }
    return "The store is damaged: " + parts.joined(separator: ". ") + "."
  }

  /// What a kind of a verification's findings means.
  private static func plain(_ kind: String) -> String {
    switch kind {
    case "damaged-file": "the store's own files are not as they were written"
    case "wrong-checksum": "records have changed since they were written"
    case "unreadable-record": "records cannot be read"
    case "wrong-order": "records are out of order, or lie over each other"
    case "orphan": "records belong to nothing"
    case "missing-record": "records that others refer to are gone"
    case "wrong-count": "counts differ from a recount"
    case "reused-number": "a number was given twice, or is above the last one given"
    default: "records break a rule"
    }
  }

  // MARK: What it has lost

  private var lost: [DoctorFinding] {
    incidents.filter { $0.count > 0 }.map { reports in
      let (count, kept) = (reports.count, reports.withBytes)
      let list = "conifer incidents \(target) lists them."
      switch reports.kind {
      case Incident.Kind.writeSetAside.rawValue:
        return DoctorFinding(
          "writes-set-aside", needsCare: true,
          "Set aside from the queue, and never sent: \(Figures.some(count, "damaged write")), \(Figures.count(kept)) with the bytes.",
          "\(list) conifer incidents ID \(target) > FILE writes the bytes of one to a file; make such a write anew "
            + "in the app. Then conifer incidents --acknowledge \(target) ends this finding, and keeps the reports."
        )
      case Incident.Kind.cacheRangeDropped.rawValue:
        return DoctorFinding(
          "data-dropped",
          "Dropped since the store was made: \(Figures.some(count, "damaged range")) of cached data; the app fetches it again "
            + "when it listens.", list)
      default:
        return DoctorFinding(
          "records-set-aside",
          "\(Figures.some(count, "report")) of other records that were damaged, lost or set aside, \(Figures.count(kept)) "
            + "with the bytes.", list)
      }
    }
  }

  private var queued: [DoctorFinding] {
    var found = rejected
    let (waiting, unknown) = (total("waiting"), total("unknown"))
    if waiting > 0 {
      let age = oldest.map { ", the oldest for \(Figures.age(milliseconds: $0))" } ?? ""
      let sent =
        unknown > 0 ? " Sent and not answered: \(Figures.count(unknown)) of them." : ""
      found.append(
        DoctorFinding(
          "waiting-writes",
          "Waiting to be sent: \(Figures.some(waiting, "write"))\(age).\(sent)",
          "They are sent while the app is connected and signed in as the user who made them."))
    }
    let incomplete = trees.reduce(0) { $0 + ($1.member("incomplete").count ?? 0) }
    if incomplete > 0 {
      found.append(
        DoctorFinding(
          "incomplete-queries",
          "Tracked queries that are not complete: \(Figures.count(incomplete)).",
          "The app completes them when it listens again. After an import that was killed, import again, with --replace: "
            + "conifer queries --incomplete \(target) --tree TREE shows the path of each."))
    }
    return found
  }

  /// Writes that a server has refused, by queue.
  private var rejected: [DoctorFinding] {
    let count = total("rejected")
    guard count > 0 else { return [] }
    let queues = trees.flatMap { tree in
      tree.member("lanes").children.map(\.node)
        .filter { ($0.member("rejected").count ?? 0) > 0 }
        .map { (tree.member("name").text ?? "", $0.member("identity").text ?? "") }
    }
    let commands = queues.prefix(3).map { name, identity in
      let options =
        "--tree=\(values.word(name, orElse: "TREE")) --identity=\(values.word(identity, orElse: "IDENTITY")) "
        + target
      return
        "conifer queue list \(options) shows the ID and the reason of each, conifer queue retry ID \(options) sends "
        + "one again, and conifer queue discard ID \(options) gives it up: what it wrote is lost."
    }
    let rest = queues.count - commands.count
    let more =
      rest > 0 ? ["The same for \(Figures.some(rest, "other queue")), with their own names."] : []
    return [
      DoctorFinding(
        "rejected-writes", needsCare: true,
        "The server has refused \(Figures.some(count, "write")); they wait for the app's decision.",
        (commands + more).joined(separator: " "))
    ]
  }

  private var built: [DoctorFinding] {
    let building = trees.flatMap { tree in
      tree.member("indexes").children.filter { $0.node.member("ready").leaf != .bool(true) }
        .map { values.name($0.node.member("name").text ?? "") }
    }
    var found: [DoctorFinding] = []
    if !building.isEmpty {
      found.append(
        DoctorFinding(
          "indexes-building",
          "Declared indexes that are not built yet: \(Figures.count(building.count)) (\(building.prefix(3).joined(separator: ", "))).",
          changing("The app builds them while it is idle; conifer tidy \(target) does it now.")))
    }
    if newDictionaries > 0 {
      found.append(
        DoctorFinding(
          "dictionaries-due",
          "Compression dictionaries that are due, since the data has changed or has none: \(Figures.count(newDictionaries)).",
          changing("The app makes them while it is idle; conifer tidy \(target) does it now.")))
    }
    return found
  }

  /// What kept the copy from being tidied to the end.
  private var tidied: [DoctorFinding] {
    guard let code = inside.member("tidying").member("failure").text else { return [] }
    let failure = Failure(code, .io, "")
    guard !failure.isOfCopy else {
      return [
        DoctorFinding(
          "not-checked", needsCare: true,
          "What tidying gives back was not found out (\(code)): the copy could not be tidied.",
          checkingAgain)
      ]
    }
    return [
      DoctorFinding(
        "tidying-fails", needsCare: true,
        "Tidying a copy of the store fails (\(code)), so that its files only grow.",
        "conifer verify --copy \(target) tells what is wrong. \(salvaging)")
    ]
  }

  // MARK: Space

  private var space: [DoctorFinding] {
    var found: [DoctorFinding] = []
    let bytes = examination.files.reduce(0) { $0 + $1.bytes }
    if let free = examination.freeSpace, !examination.files.isEmpty,
      free < max(Self.leastFree, bytes / 10)
    {
      found.append(
        DoctorFinding(
          "disk-nearly-full", needsCare: true,
          "Only \(Figures.bytes(free)) are free on the store's volume. When it is full, writes fail with full; reading, "
            + "evicting and sending the queue go on.",
          "Free space there, or give the cache a smaller budget."))
    }
    if let budget, let cache = inside.member("cache").count, cache > budget {
      found.append(
        DoctorFinding(
          "over-budget", needsCare: true,
          "The cache takes \(Figures.bytes(cache)), more than its budget of \(Figures.bytes(budget)).",
          changing(
            "conifer evict \(target) brings it under that, except for what is pinned (conifer pins \(target))."
          )))
    }
    let after = inside.member("tidying")
    if let file = inside.member("size").member("file").count,
      let shrunk = after.member("size").member("file").count, file - shrunk > max(1 << 20, file / 8)
    {
      found.append(
        DoctorFinding(
          "untidy",
          "Tidying would give back \(Figures.bytes(file - shrunk)) of \(Figures.bytes(file)).",
          changing("The app tidies while it is idle; conifer tidy \(target) does it now.")))
    }
    // Of a small store the reason is its size.
    if let why = after.member("why").text, bytes > 16 << 20 {
      found.append(DoctorFinding("large-files", "Also after tidying: \(why)"))
    }
    return found
  }

  private var beside: [DoctorFinding] {
    examination.beside.map { place in
      switch place {
      case .damaged(let path):
        DoctorFinding(
          "set-aside-store",
          "\(told(path)) has the files of a damaged store, which this one has replaced.",
          examination.isSettled
            ? "When you know that this store has everything, remove the files in it, and keep the empty directory: while its "
              + "name is taken, no number of a write is given twice."
            : "Keep it until this store is opened and sound.")
      case .salvage(let path, let work): salvage(path, work)
      case .migrated(let path):
        DoctorFinding(
          "migrated", "\(told(path)) is a store that was migrated, and is not used any more.",
          "Remove it when you know that the new store has everything.")
      }
    }
  }

  /// A directory in which a salvage makes a store. It may hold the only copy of what was saved, so removing it is advised only
  /// where surely nothing needs it.
  private func salvage(_ path: String, _ work: Beside.Work) -> DoctorFinding {
    switch work {
    case .running:
      DoctorFinding(
        "salvage-running", "A salvage is at work in \(told(path)).",
        "Wait until it has ended, and leave the directory alone.")
    case .unfinished:
      DoctorFinding(
        "salvage-left",
        "\(told(path)) is of a salvage that was cut short, and may hold the only copy of what was saved.",
        "Leave it alone, and open the store in the app, which goes on with it.")
    case .left where examination.isSettled:
      DoctorFinding(
        "salvage-left",
        "\(told(path)) was left by a salvage that was killed; this store does not need it.",
        "Remove it, or leave it to the next salvage, which makes it anew.")
    case .left:
      DoctorFinding(
        "salvage-left", "\(told(path)) was left by a salvage that was killed.",
        "Salvage again, which makes it anew.")
    case .unknown:
      DoctorFinding(
        "salvage-left",
        "\(told(path)) has the name of a salvage's directory, and is in the way of the next one.",
        "Find out who made it; another directory of that name is not the tool's.")
    }
  }

  /// The path of a directory beside the store.
  private func told(_ path: String) -> String {
    guard values.hides else { return path }
    return "STORE." + (path.split(separator: ".").last ?? "")
  }
}
