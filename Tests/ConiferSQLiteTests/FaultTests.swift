import CSQLite
import ConiferKeyValue
import ConiferStorage
import TestSupport
import Testing

@testable import ConiferSQLite

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// A SQLite VFS over the system's whose writes or syncs fail when told.
enum FaultyVFS {
  // Unsafe: SQLite calls plain C functions; the one suite that uses this runs its tests in turn.
  nonisolated(unsafe) static var failsSync = false
  nonisolated(unsafe) static var failsWrite = false
  nonisolated(unsafe) static var logLimit = Int.max
  nonisolated(unsafe) static var syncs = 0
  typealias Methods = UnsafePointer<sqlite3_io_methods>
  /// The system's methods of each open file; a log has others than a database.
  nonisolated(unsafe) static var originals: [UnsafeMutableRawPointer: Methods] = [:]
  nonisolated(unsafe) static var patched: [Methods: Methods] = [:]
  nonisolated(unsafe) static var base: UnsafeMutablePointer<sqlite3_vfs>?
  nonisolated(unsafe) static var logs: Set<UnsafeMutableRawPointer> = []

  /// Its name, under which it is registered once.
  static let name: String = {
    guard let found = sqlite3_vfs_find(nil) else { return "unix" }
    base = found
    let vfs = UnsafeMutablePointer<sqlite3_vfs>.allocate(capacity: 1)
    vfs.initialize(to: found.pointee)
    vfs.pointee.pNext = nil
    vfs.pointee.zName = UnsafePointer(strdup("conifer-faulty"))
    vfs.pointee.xOpen = { _, name, file, flags, outFlags in
      guard let system = FaultyVFS.base, let open = system.pointee.xOpen else {
        return SQLITE_ERROR
      }
      let code = open(system, name, file, flags, outFlags)
      guard code == SQLITE_OK, let file, let methods = file.pointee.pMethods else { return code }
      if flags & SQLITE_OPEN_WAL != 0 { FaultyVFS.logs.insert(UnsafeMutableRawPointer(file)) }
      FaultyVFS.originals[UnsafeMutableRawPointer(file)] = methods
      file.pointee.pMethods = FaultyVFS.patched[methods] ?? FaultyVFS.patch(methods)
      return code
    }
    sqlite3_vfs_register(vfs, 0)
    return "conifer-faulty"
  }()

  private static func patch(_ methods: Methods) -> Methods {
    let copy = UnsafeMutablePointer<sqlite3_io_methods>.allocate(capacity: 1)
    copy.initialize(to: methods.pointee)
    copy.pointee.xSync = { file, flags in
      FaultyVFS.syncs += 1
      if FaultyVFS.failsSync { return SQLITE_IOERR | 4 << 8 }
      return FaultyVFS.system(file)?.xSync?(file, flags) ?? SQLITE_ERROR
    }
    copy.pointee.xWrite = { file, bytes, count, offset in
      if FaultyVFS.failsWrite { return SQLITE_FULL }
      if let file, FaultyVFS.logs.contains(UnsafeMutableRawPointer(file)),
        Int(offset + Int64(count)) > FaultyVFS.logLimit
      {
        return SQLITE_FULL
      }
      return FaultyVFS.system(file)?.xWrite?(file, bytes, count, offset) ?? SQLITE_ERROR
    }
    copy.pointee.xClose = { file in
      let code = FaultyVFS.system(file)?.xClose?(file) ?? SQLITE_ERROR
      if let file {
        FaultyVFS.logs.remove(UnsafeMutableRawPointer(file))
        FaultyVFS.originals[UnsafeMutableRawPointer(file)] = nil
      }
      return code
    }
    let made = Methods(copy)
    patched[methods] = made
    return made
  }

  private static func system(_ file: UnsafeMutablePointer<sqlite3_file>?) -> sqlite3_io_methods? {
    file.flatMap { originals[UnsafeMutableRawPointer($0)]?.pointee }
  }

  static func calm() { (failsSync, failsWrite, logLimit) = (false, false, .max) }
}

@Suite("A SQLite store on a failing disk", .serialized)
struct FaultTests {
  let scratch: Scratch
  var options = SQLiteOptions()
  init() throws {
    scratch = try Scratch()
    options.vfs = FaultyVFS.name
    FaultyVFS.calm()
  }

  @Test("A failed sync poisons until the store is reopened, and reading goes on")
  func poison() throws {
    for isHarden in [false, true] {
      let store = try SQLiteStore(at: scratch.store, options)
      let id = try store.put(rows, [1], isHarden ? [1] : [0])
      FaultyVFS.failsSync = true
      let failed = code { () throws(StoreError) in
        if isHarden { try store.harden(id) } else { try store.put(rows, [2], [2], .power) }
      }
      #expect(failed == .io)
      FaultyVFS.calm()
      #expect(code { () throws(StoreError) in try store.put(rows, [3], [3]) } == .poisoned)
      #expect(code { () throws(StoreError) in try store.harden(id) } == .poisoned)
      #expect(code { () throws(StoreError) in _ = try store.tidy(.zero) } == .poisoned)
      #expect(try store.view().value(rows, [1]) == (isHarden ? [1] : [0]))
      #expect(code { () throws(StoreError) in try store.suspend() } == .poisoned)
      try store.resume()
      #expect(code { () throws(StoreError) in try store.put(rows, [3], [3]) } == .poisoned)
      #expect(code { () throws(StoreError) in try store.close() } == .poisoned)
      let again = try SQLiteStore(at: scratch.store, options)
      #expect(try again.view().value(rows, [1]) == (isHarden ? [1] : [0]))
      try again.put(rows, [3], [3], .power)
      #expect(try findings(again) == [])
      try again.close()
    }
  }

  @Test("A full disk is an ordinary error: nothing changes, and it goes on when there is space")
  func full() throws {
    let store = try SQLiteStore(at: scratch.store, options)
    try store.put(rows, [1], [1], .power)
    FaultyVFS.failsWrite = true
    #expect(code { () throws(StoreError) in try store.put(rows, [2], [2]) } == .full)
    #expect(code { () throws(StoreError) in try store.put(blobs, [2], [2], .power) } == .full)
    let view = try store.view()
    #expect(try view.value(rows, [1]) == [1])
    #expect(try view.value(rows, [2]) == nil)
    view.close()
    FaultyVFS.calm()
    try store.put(rows, [2], [2], .power)
    #expect(try findings(store) == [])
    try store.close()
    let again = try SQLiteStore(at: scratch.store, options)
    #expect(try contents(again.view(), rows) == [[[1], [1]], [[2], [2]]])
  }

  @Test("A power commit syncs what came before it, also when it changes nothing itself")
  func powerCovers() throws {
    let store = try SQLiteStore(at: scratch.store, options)
    func syncs(_ body: () throws -> Void) rethrows -> Int {
      let before = FaultyVFS.syncs
      try body()
      return FaultyVFS.syncs - before
    }
    try store.put(rows, [0], [0], .power)
    for value in UInt8(1)...3 {
      var id = CommitID(rawValue: 0)
      #expect(try syncs { id = try store.put(rows, [1], [value], .process) } == 0)
      switch value {
      case 1: #expect(try syncs { _ = try store.apply(Batch(), .power) } == 1)
      case 2: #expect(try syncs { try store.put(rows, [1], [value], .power) } == 1)
      default: #expect(try syncs { try store.harden(id) } == 1)
      }
      #expect(try syncs { try store.harden(id) } == 0)
      #expect(try syncs { _ = try store.apply(Batch(), .power) } == 0)
    }
    #expect(try syncs { try store.put(rows, [1], [9], .power) } == 1)
    try store.close()
  }

  @Test("A log that cannot grow is folded, so that deleting goes on")
  func deletesWhenFull() throws {
    let store = try SQLiteStore(at: scratch.store, options)
    for n in 0..<200 { try store.put(blobs, key(n), Bytes(repeating: 1, count: 8_000)) }
    FaultyVFS.logLimit = Scratch.length((scratch.store + "/conifer.sqlite") + "-wal")
    defer { FaultyVFS.logLimit = .max }
    for n in 0..<200 {
      var batch = Batch()
      batch.delete(blobs, key(n))
      _ = try store.apply(batch, .power)
    }
    #expect(try contents(store.view(), blobs).isEmpty)
    try store.close()
  }
}
