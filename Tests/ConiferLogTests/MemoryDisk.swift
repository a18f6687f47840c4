import ConiferKeyValue
import ConiferStorage
import Synchronization
import TestSupport

@testable import ConiferLog

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// A disk in memory that counts every operation, fails the one that a test names, and can lose what
/// was not synced.
final class MemoryDisk: LogFileSystem {
  /// What a disk does about one operation.
  enum Fault: Equatable {
    /// The operation fails with an error number and does nothing.
    case fails(Int32)
    /// A write writes a part and then fails; another operation fails.
    case tears(Int32)
    /// A write writes all and fails all the same; another operation fails.
    case doesAndFails(Int32)
    /// A write or read does a part and says so.
    case short
    /// The call is interrupted.
    case interrupted
    /// Nothing is done any more from here on: every operation fails.
    case dies
  }

  enum Operation: Equatable {
    case names, open, create, rename, remove, syncDirectory, length, read, write, sync, allocate,
      truncate
    var changes: Bool {
      switch self {
      case .create, .rename, .remove, .syncDirectory, .write, .sync, .allocate, .truncate: true
      case .names, .open, .length, .read: false
      }
    }
  }

  /// A file's bytes now and what a power cut may leave.
  struct Inode {
    var bytes: Bytes = []
    var synced: Bytes = []
    /// Changes since the last sync, in order.
    var changes: [Change] = []
  }

  enum Change {
    case write(Int, Bytes)
    case length(Int)
  }

  enum NameChange {
    case set(String, Int)
    case remove(String)
  }

  struct State {
    var inodes: [Int: Inode] = [:]
    var next = 1
    var names: [String: Int] = [:]
    var syncedNames: [String: Int] = [:]
    var nameChanges: [NameChange] = []
    /// Operations since the disk was made, or `count` was set.
    var count = 0
    var reads = 0
    var counted: [Operation] = []
    var faults: [Int: Fault] = [:]
    /// Faults by kind of operation, for all of them.
    var always: [(Operation, Fault)] = []
    /// Bytes that all files together may take.
    var room = Int.max
    var isDead = false
    /// Called before each rename, with nothing locked.
    var beforeRename: (@Sendable () -> Void)?
  }

  let state = Mutex(State())

  init() {}

  /// Meets an operation: counts it, and tells what shall happen to it.
  private static func meet(
    _ state: inout State, _ operation: Operation
  ) throws(FileFailure) -> Fault? {
    if state.isDead { throw FileFailure(EIO) }
    if operation == .read { state.reads += 1 }
    defer {
      if operation.changes {
        state.counted.append(operation)
        state.count += 1
      }
    }
    var fault = state.always.first { $0.0 == operation }?.1
    if operation.changes, let planned = state.faults[state.count] { fault = planned }
    switch fault {
    case .fails(let number): throw FileFailure(number)
    case .tears(let number) where operation != .write: throw FileFailure(number)
    case .doesAndFails(let number) where operation != .write: throw FileFailure(number)
    case .dies:
      state.isDead = true
      throw FileFailure(EIO)
    case .interrupted where [.read, .write, .sync].contains(operation):
      // Once: the next try is another operation.
      throw FileFailure(EINTR)
    default: return fault
    }
  }

  /// Bytes of all files that have a name; of one that is being changed, none.
  static func used(_ state: State) -> Int {
    state.names.values.reduce(0) { $0 + (state.inodes[$1]?.bytes.count ?? 0) }
  }

  func makeDirectory(_ path: String) throws(StoreError) {}

  func own(_ path: String) throws(StoreError) -> OwnerLock? { nil }

  func names(in directory: String) throws(FileFailure) -> [String] {
    try state.withLock { (state) throws(FileFailure) in
      _ = try Self.meet(&state, .names)
      return state.names.keys.sorted().map { String($0.dropFirst(directory.count + 1)) }
    }
  }

  func open(_ path: String, _ access: FileAccess) throws(FileFailure) -> (any LogFile)? {
    try state.withLock { (state) throws(FileFailure) -> (any LogFile)? in
      if access != .create {
        _ = try Self.meet(&state, .open)
        return state.names[path].map { File(self, $0) }
      }
      _ = try Self.meet(&state, .create)
      if let known = state.names[path] {
        state.inodes[known]?.bytes = []
        state.inodes[known]?.changes.append(.length(0))
        return File(self, known)
      }
      let number = state.next
      state.next += 1
      state.inodes[number] = Inode()
      state.names[path] = number
      state.nameChanges.append(.set(path, number))
      return File(self, number)
    }
  }

  func rename(_ path: String, to new: String) throws(FileFailure) {
    state.withLock { $0.beforeRename }?()
    try state.withLock { (state) throws(FileFailure) in
      _ = try Self.meet(&state, .rename)
      guard let number = state.names[path] else { throw FileFailure(ENOENT) }
      state.names[path] = nil
      state.names[new] = number
      // One change: a crash sees the rename whole or not at all.
      state.nameChanges.append(.set(new, number))
      state.nameChanges.append(.remove(path))
    }
  }

  func remove(_ path: String) throws(FileFailure) {
    try state.withLock { (state) throws(FileFailure) in
      _ = try Self.meet(&state, .remove)
      if state.names.removeValue(forKey: path) != nil { state.nameChanges.append(.remove(path)) }
    }
  }

  func syncDirectory(_ path: String) throws(FileFailure) {
    try state.withLock { (state) throws(FileFailure) in
      _ = try Self.meet(&state, .syncDirectory)
      state.syncedNames = state.names
      state.nameChanges = []
    }
  }

  private final class File: LogFile {
    let disk: MemoryDisk
    let number: Int

    init(_ disk: MemoryDisk, _ number: Int) {
      self.disk = disk
      self.number = number
    }

    private func change<R>(
      _ operation: Operation, _ body: (inout State, inout Inode, Fault?) throws(FileFailure) -> R
    ) throws(FileFailure) -> R {
      try disk.state.withLock { (state) throws(FileFailure) -> R in
        let fault = try MemoryDisk.meet(&state, operation)
        guard var inode = state.inodes[number] else { throw FileFailure(EBADF) }
        state.inodes[number] = nil
        defer { state.inodes[number] = inode }
        return try body(&state, &inode, fault)
      }
    }

    func length() throws(FileFailure) -> Int {
      try change(.length) { _, inode, _ in inode.bytes.count }
    }

    func read(
      _ buffer: UnsafeMutableRawBufferPointer, at offset: Int
    ) throws(FileFailure) -> Int {
      try change(.read) { _, inode, fault in
        var count = max(0, min(buffer.count, inode.bytes.count - offset))
        if fault == .short, count > 1 { count = (count + 1) / 2 }
        inode.bytes.withUnsafeBytes { bytes in
          if count > 0 {
            buffer.copyMemory(from: .init(rebasing: bytes[offset..<(offset + count)]))
          }
        }
        return count
      }
    }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(FileFailure) -> Int {
      try change(.write) { (state, inode, fault) throws(FileFailure) -> Int in
        var part = Bytes(bytes)
        if fault == .short, part.count > 1 { part.removeLast(part.count / 2) }
        if case .tears = fault { part.removeLast((part.count + 1) / 2) }
        let end = offset + part.count
        let others = MemoryDisk.used(state)
        if max(end, inode.bytes.count) + others > state.room { throw FileFailure(ENOSPC) }
        if inode.bytes.count < end {
          inode.bytes += Bytes(repeating: 0, count: end - inode.bytes.count)
        }
        inode.bytes.replaceSubrange(offset..<end, with: part)
        inode.changes.append(.write(offset, part))
        if case .tears(let number) = fault { throw FileFailure(number) }
        if case .doesAndFails(let number) = fault { throw FileFailure(number) }
        return part.count
      }
    }

    func sync() throws(FileFailure) {
      try change(.sync) { _, inode, _ in
        inode.synced = inode.bytes
        inode.changes = []
      }
    }

    func allocate(_ length: Int) throws(FileFailure) {
      try change(.allocate) { (state, inode, _) throws(FileFailure) in
        guard inode.bytes.count < length else { return }
        let others = MemoryDisk.used(state)
        if length + others > state.room { throw FileFailure(ENOSPC) }
        inode.bytes += Bytes(repeating: 0, count: length - inode.bytes.count)
        inode.changes.append(.length(length))
      }
    }

    func truncate(_ length: Int) throws(FileFailure) {
      try change(.truncate) { _, inode, _ in
        if inode.bytes.count > length { inode.bytes.removeLast(inode.bytes.count - length) }
        inode.changes.append(.length(length))
      }
    }

    deinit {
      // A file without a name goes with its last reference.
      disk.state.withLock { state in
        if !state.names.values.contains(number), !state.syncedNames.values.contains(number),
          state.nameChanges.isEmpty
        {
          state.inodes[number] = nil
        }
      }
    }
  }
}

extension MemoryDisk {
  /// What a power cut leaves of unsynced changes.
  enum Image: CaseIterable {
    /// Nothing that was not synced.
    case synced
    /// Everything.
    case all
    /// Some changes, in pieces of 512 bytes, and some names.
    case torn
  }

  /// The disk after a power cut.
  func crashed(_ image: Image, seed: UInt64) -> MemoryDisk {
    let copy = MemoryDisk()
    var random = Seeded(seed)
    let old = state.withLock { $0 }
    copy.state.withLock { new in
      new.next = old.next
      switch image {
      case .synced: new.names = old.syncedNames
      case .all: new.names = old.names
      case .torn:
        new.names = old.syncedNames
        var i = 0
        while i < old.nameChanges.count {
          let isKept = Bool.random(using: &random)
          // A rename is two changes and one fate.
          if case .set(let name, let number) = old.nameChanges[i] {
            if isKept { new.names[name] = number }
            if i + 1 < old.nameChanges.count, case .remove(let from) = old.nameChanges[i + 1],
              old.nameChanges[..<i].contains(where: {
                if case .set(from, number) = $0 { true } else { false }
              }) || old.syncedNames[from] == number
            {
              if isKept { new.names[from] = nil }
              i += 1
            }
          } else if case .remove(let name) = old.nameChanges[i], isKept {
            new.names[name] = nil
          }
          i += 1
        }
      }
      for (number, inode) in old.inodes {
        var bytes: Bytes
        switch image {
        case .synced: bytes = inode.synced
        case .all: bytes = inode.bytes
        case .torn:
          bytes = inode.synced
          for change in inode.changes {
            switch change {
            case .length(let length):
              guard Bool.random(using: &random) else { continue }
              bytes = Bytes(bytes.prefix(length))
              bytes += Bytes(repeating: 0, count: length - bytes.count)
            case .write(let offset, let part):
              var at = 0
              while at < part.count {
                let end = min(part.count, at + 512 - (offset + at) % 512)
                if Bool.random(using: &random) {
                  if bytes.count < offset + end {
                    bytes += Bytes(repeating: 0, count: offset + end - bytes.count)
                  }
                  bytes.replaceSubrange((offset + at)..<(offset + end), with: part[at..<end])
                }
                at = end
              }
            }
          }
        }
        new.inodes[number] = Inode(bytes: bytes, synced: bytes)
      }
      new.syncedNames = new.names
    }
    return copy
  }

  /// A copy with nothing pending, as after an orderly end of the machine.
  func copied() -> MemoryDisk { crashed(.all, seed: 0) }

  /// The bytes of a file.
  subscript(path: String) -> Bytes? {
    get {
      state.withLock { state in state.names[path].flatMap { state.inodes[$0]?.bytes } }
    }
    set {
      state.withLock { state in
        guard let newValue else {
          state.names[path] = nil
          state.syncedNames[path] = nil
          return
        }
        let number = state.names[path] ?? state.next
        if state.names[path] == nil { state.next += 1 }
        state.names[path] = number
        state.syncedNames[path] = number
        state.inodes[number] = Inode(bytes: newValue, synced: newValue)
      }
    }
  }

  /// The paths of all files.
  var paths: [String] { state.withLock { $0.names.keys.sorted() } }

  func store(_ options: LogOptions = .tiny) throws(StoreError) -> LogStore {
    try LogStore(at: "store", options, files: self)
  }
}
