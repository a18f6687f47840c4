internal import ConiferKeyValue

/// A disk on which recorded operations are played, with the parts that a power cut may lose.
///
/// The assumptions, as Docs/Crashes.md states them: a file's bytes and length are durable when a
/// sync of the file returned after they were written, or when their own write went through O_DSYNC;
/// a name is durable when its directory was synced, and a sync of the file does nothing for it; a
/// rename is old or new. What is not durable is kept, dropped, or, for a write, torn between sectors
/// of 512 bytes, each on its own and in any combination.
struct SimulatedDisk: Sendable {
  /// A change of a file since its last sync.
  enum Change: Sendable {
    /// Written through O_DSYNC: durable, but applied in order with changes that are not.
    case durable(offset: Int, Bytes)
    case write(offset: Int, Bytes)
    case resize(Int)
  }

  /// A file, under any number of names.
  struct File: Sendable {
    /// What is durable.
    var content = FileBytes()
    var pending: [Change] = []
    /// What a running program sees.
    var live = FileBytes()

    mutating func apply(_ change: Change) {
      pending.append(change)
      live.apply(change)
    }
  }

  /// The files, by number; they stay when their names are removed.
  private(set) var files: [File] = []
  /// The names that directory syncs made durable, and the changes since.
  private(set) var names = Names()
  private(set) var pending: [Names.Change] = []
  /// The names as a running program sees them.
  private var live = Names()
  /// The files by their numbers in the record.
  private var known: [Int: Int] = [:]

  /// An empty disk.
  init() {}

  /// A disk on which all files of a directory are durable.
  init(holding directory: String) throws {
    try add(directory, below: "")
  }

  private mutating func add(_ directory: String, below prefix: String) throws {
    for name in System.names(in: directory) {
      let path = prefix + name
      if System.isDirectory(directory + "/" + name) {
        enter(path, .directory)
        try add(directory + "/" + name, below: path + "/")
      } else {
        let content = FileBytes(try System.content(of: directory + "/" + name))
        files.append(File(content: content, live: content))
        enter(path, .file(files.count - 1))
      }
    }
  }

  private mutating func enter(_ path: String, _ target: Names.Target) {
    live.apply(.enter(path, target))
    names.apply(.enter(path, target))
  }

  /// The same disk for another record, which numbers files anew.
  func reopened() -> SimulatedDisk {
    var disk = self
    disk.known = [:]
    return disk
  }

  /// Whether everything on the disk is durable.
  var isAllDurable: Bool { pending.isEmpty && files.allSatisfy { $0.pending.isEmpty } }

  /// Which file an operation that was not played yet writes to, and how many of its bytes it makes
  /// different; a new length counts as one.
  func change(by entry: IOEntry) -> (file: Int, bytes: Int)? {
    switch entry {
    case .write(let file, let offset, let bytes, _):
      known[file].map { ($0, files[$0].live.changed(by: bytes, at: offset)) }
    case .resize(let file, _): known[file].map { ($0, 1) }
    default: nil
    }
  }

  /// Plays an operation.
  ///
  /// - Returns: whether it changed what a power cut may leave.
  mutating func play(_ entry: IOEntry) -> Bool {
    switch entry {
    case .mark: return false
    case .open(let file, let path):
      if case .file(let there)? = live.targets[path] { known[file] = there }
      return false
    case .create(let file, let path):
      files.append(File())
      known[file] = files.count - 1
      change(.enter(path, .file(files.count - 1)))
    case .write(let file, let offset, let bytes, let isDurable):
      guard let index = known[file] else { return false }
      files[index].apply(
        isDurable ? .durable(offset: offset, bytes) : .write(offset: offset, bytes))
    case .resize(let file, let length):
      guard let index = known[file] else { return false }
      files[index].apply(.resize(length))
    case .sync(let file):
      guard let index = known[file], !files[index].pending.isEmpty else { return false }
      for change in files[index].pending { files[index].content.apply(change) }
      files[index].pending = []
    case .syncDirectory(let path):
      let settled = pending.filter { $0.directory == path }
      if settled.isEmpty { return false }
      for change in settled { names.apply(change) }
      pending.removeAll { $0.directory == path }
    case .rename(let old, let new):
      guard let target = live.targets[old] else { return false }
      change(.move(old, new, target))
    case .link(let old, let new):
      guard let target = live.targets[old] else { return false }
      change(.enter(new, target))
    case .unlink(let path), .removeDirectory(let path): change(.remove(path))
    case .makeDirectory(let path): change(.enter(path, .directory))
    }
    return true
  }

  private mutating func change(_ change: Names.Change) {
    live.apply(change)
    pending.append(change)
  }
}

/// The names on a disk, relative to its root.
struct Names: Sendable {
  /// What a name refers to.
  enum Target: Sendable {
    case file(Int)
    case directory
  }

  /// A change of names.
  enum Change: Sendable {
    case enter(String, Target)
    case remove(String)
    case move(String, String, Target)

    /// The directory whose sync makes it durable.
    var directory: String {
      switch self {
      case .enter(let path, _), .remove(let path), .move(_, let path, _): Names.parent(of: path)
      }
    }
  }

  private(set) var targets: [String: Target] = [:]

  /// The directory that a name is in, "" for the root.
  static func parent(of path: String) -> String {
    path.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(path[..<$0]) } ?? ""
  }

  mutating func apply(_ change: Change) {
    switch change {
    case .enter(let path, let target): targets[path] = target
    case .remove(let path): targets[path] = nil
    case .move(let old, let new, let target):
      targets[old] = nil
      targets[new] = target
      guard case .directory = target else { return }
      for (path, inner) in targets where path.hasPrefix(old + "/") {
        targets[path] = nil
        targets[new + path.dropFirst(old.count)] = inner
      }
    }
  }

  /// The names whose directories exist.
  var reachable: [(path: String, target: Target)] {
    func isReachable(_ path: String) -> Bool {
      let parent = Names.parent(of: path)
      if parent.isEmpty { return true }
      guard case .directory? = targets[parent] else { return false }
      return isReachable(parent)
    }
    return targets.filter { isReachable($0.key) }.map { (path: $0.key, target: $0.value) }
      .sorted { $0.path < $1.path }
  }
}
