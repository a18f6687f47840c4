import ConiferKeyValue
import TestSupport
import Testing

@testable import ConiferStorage

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

@Suite("Who has a store open, seen from outside")
struct StoreOwnerTests {
  private func owner(_ directory: String) throws -> StoreOwner {
    try StoreOwner.look(in: directory) { $0 }
  }

  @Test("Nobody has a store without a lock file, or with one that was let go of, and none is made")
  func nobody() throws {
    let scratch = try Scratch()
    #expect(try owner(scratch.path) == .nobody)
    #expect(Scratch.names(scratch.path).isEmpty)
    try OwnerLock(path: scratch.path + "/owner").release()
    #expect(try owner(scratch.path) == .nobody)
  }

  @Test("The process that has a store is told, and its file stays as it is")
  func open() throws {
    let scratch = try Scratch()
    let path = scratch.path + "/owner"
    let lock = try OwnerLock(path: path)
    let before = Scratch.read(path)
    guard case .process(let pid, _, let isRunning) = try owner(scratch.path) else {
      Issue.record("nobody has it")
      return
    }
    #expect(pid == getpid() && isRunning)
    #expect(Scratch.read(path) == before && lock.isHeld)
    // The lock is held by somebody else than the file names.
    Scratch.write(Bytes("kind k k\npid \(getpid())\nstart another\n".utf8), path)
    #expect(
      try owner(scratch.path) == .process(getpid(), program: nil, isRunning: false))
    Scratch.write(Bytes("kind k k\n".utf8), path)
    #expect(try owner(scratch.path) == .process(nil, program: nil, isRunning: true))
    lock.release()
  }

  @Test("A process that left a store behind is told, also the next time")
  func leftBehind() throws {
    let scratch = try Scratch()
    let path = scratch.path + "/owner"
    let text = Bytes("kind k k\npid 4711\nstart gone\n".utf8)
    Scratch.write(text, path)
    for _ in 0..<2 { #expect(try owner(scratch.path) == .leftBehind(process: 4711)) }
    #expect(Scratch.read(path) == text)
    // Who opens the store is told the same.
    let lock = try OwnerLock(path: path)
    #expect(lock.wasLeftBehind)
    lock.release()
  }

  @Test("While somebody looks, nobody can open the store, and others can look")
  func looking() throws {
    let scratch = try Scratch()
    let path = scratch.path + "/owner"
    try OwnerLock(path: path).release()
    try StoreOwner.look(in: scratch.path) { first in
      #expect(first == .nobody)
      #expect((try? owner(scratch.path)) == .nobody)
      let error = #expect(throws: StoreError.self) { try OwnerLock(path: path) }
      #expect(error?.code == .busy)
    }
    try OwnerLock(path: path).release()
  }

  @Test("A mark is told by its commit, what is none as that, and neither is changed")
  func mark() throws {
    let scratch = try Scratch()
    let path = scratch.path + "/\(SyncMarkFile.name)"
    #expect(SyncMark.words(in: scratch.path) == "none")
    #expect(Scratch.names(scratch.path).isEmpty)
    let bytes = SyncMark.bytes(StoreCommit(store: 7, number: 42))
    Scratch.write(bytes, path)
    #expect(SyncMark.words(in: scratch.path) == "commit 42 survives power loss")
    Scratch.write(Bytes("a letter to my aunt, in some lines of text".utf8), path)
    #expect(SyncMark.words(in: scratch.path) == "a file that is not a mark")
  }
}
