import ConiferKeyValue
import ConiferTree
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

@Suite("The lock that makes one opener the owner")
struct OwnerLockTests {
  @Test("A second opener is told who the owner is, until the lock is let go of")
  func owner() throws {
    let scratch = try Scratch()
    let path = scratch.path + "/owner"
    let lock = try OwnerLock(path: path)
    do {
      _ = try OwnerLock(path: path)
      Issue.record("two own it")
    } catch {
      #expect(error.code == .busy && error.message.contains("\(getpid())"), "\(error)")
    }
    lock.release()
    try OwnerLock(path: path).release()
    unlink(path)
  }

  private static let kept = StoreFiles(kind: "some-kind", main: "main", later: ["later"])

  private func refusal(_ path: String, _ files: StoreFiles) -> StoreError? {
    do throws(StoreError) {
      try OwnerLock(path: path, for: files).release()
      return nil
    } catch { return error }
  }

  @Test("The kind is recorded once it is said to be, and stays whoever takes the lock later")
  func kind() throws {
    let scratch = try Scratch()
    let path = scratch.path + "/owner"
    func first() -> String? { try? OwnerLock.kind(in: scratch.path) }
    var lock = try OwnerLock(path: path, for: Self.kept)
    #expect(first() == nil)
    lock.release()
    #expect(Scratch.read(path).isEmpty)
    // Nothing says that there was a store.
    lock = try OwnerLock(path: path, for: Self.kept)
    Scratch.write([1], scratch.path + "/main")
    lock.recordKind()
    #expect(first() == "some-kind")
    #expect(refusal(path, Self.kept)?.message.contains("\(getpid())") == true)
    lock.recordKind()
    lock.release()
    lock.recordKind()
    #expect(Scratch.read(path) == Bytes("kind some-kind some-kind\n".utf8))
    #expect(try OwnerLock.kind(in: scratch.path) == "some-kind")
    // One that names no kind, such as a salvage.
    lock = try OwnerLock(path: path)
    #expect(refusal(path, Self.kept)?.code == .busy)
    lock.recordKind()
    lock.release()
    #expect(Scratch.read(path) == Bytes("kind some-kind some-kind\n".utf8))
    unlink(scratch.path + "/main")
    unlink(path)
  }

  @Test("Another kind is refused, and a store without its main file, and nothing is changed")
  func refusals() throws {
    let scratch = try Scratch()
    let path = scratch.path + "/owner"
    var before = Bytes("kind other other\n".utf8)
    for main in [false, true] {
      if main { Scratch.write([1], scratch.path + "/main") }
      Scratch.write(before, path)
      let error = refusal(path, Self.kept)
      #expect(error?.code == .foreign)
      for name in ["some-kind", "other"] { #expect(error?.message.contains(name) == true) }
      #expect(Scratch.read(path) == before)
    }
    unlink(scratch.path + "/main")
    before = Bytes("kind some-kind some-kind\npid 1\nstart gone\n".utf8)
    Scratch.write(before, path)
    let error = refusal(path, Self.kept)
    #expect(error?.code == .damaged)
    #expect(error?.message.contains(scratch.path + "/main is missing") == true)
    #expect(Scratch.read(path) == before)
    // Of a store of before, what it makes later tells that it was there.
    for text in [nil, "", "pid 1\nstart gone\n"] as [String?] {
      unlink(path)
      if let text { Scratch.write(Bytes(text.utf8), path) }
      Scratch.write([1], scratch.path + "/later")
      #expect(refusal(path, Self.kept)?.code == .damaged)
      #expect(Scratch.names(scratch.path) == (text == nil ? ["later"] : ["later", "owner"]))
      Scratch.write([], scratch.path + "/later")
      #expect(refusal(path, Self.kept) == nil)
      unlink(scratch.path + "/later")
    }
    unlink(path)
  }

  /// Lines of a kind that are not as they were written.
  private static let changed = [
    "kind \n", "kind some-kind\n", "kind some kind\n", "kind some-kind some-kine\n",
    "kind some-kinD some-kind\n", "kine some-kind some-kind\n", "kind some-kind  some-kind\n",
    "kind sóme sóme\n", "kind some-kind some-kind\0\n", "Kind other other\n", " kind other other\n",
    "kind \(String(repeating: "k", count: 65)) \(String(repeating: "k", count: 65))\n",
  ]

  @Test("Who does not know the kind leaves a line that was changed", arguments: changed)
  func kept(text: String) throws {
    let scratch = try Scratch()
    let path = scratch.path + "/owner"
    Scratch.write(Bytes(text.utf8), path)
    try OwnerLock(path: path).release()
    #expect(Scratch.read(path) == Bytes(text.utf8))
    #expect(refusal(path, Self.kept)?.code == .damaged)
    unlinkAll(scratch.path)
  }

  @Test(
    "What is no whole line of a kind records none, and is replaced",
    arguments: [
      "", "kind", "kind ", "kind some-kind", "kind some-kind some-kind", "\0\0\0\0",
      "pid 1\nkind other other\n",
    ] + changed, [false, true])
  func torn(text: String, hasMain: Bool) throws {
    let scratch = try Scratch()
    let path = scratch.path + "/owner"
    Scratch.write(Bytes(text.utf8), path)
    if hasMain { Scratch.write([1], scratch.path + "/main") }
    #expect(try OwnerLock.kind(in: scratch.path) == nil)
    if Self.changed.contains(text), !hasMain {
      // A store was there, of this kind or another one.
      let error = refusal(path, Self.kept)
      #expect(error?.code == .damaged)
      #expect(error?.message.contains("\(path) is damaged") == true)
      #expect(error?.message.contains("mends") == true)
      #expect(Scratch.read(path) == Bytes(text.utf8))
      return unlinkAll(scratch.path)
    }
    let lock = try OwnerLock(path: path, for: Self.kept)
    lock.recordKind()
    lock.release()
    #expect(Scratch.read(path) == Bytes("kind some-kind some-kind\n".utf8))
    unlinkAll(scratch.path)
  }

  private func unlinkAll(_ directory: String) {
    for name in ["owner", "main"] { unlink("\(directory)/\(name)") }
  }

  #if os(Linux)
    @Test("A copy of the open file, as a child has while it starts, does not keep the lock")
    func copies() throws {
      let scratch = try Scratch()
      let path = scratch.path + "/owner"
      let lock = try OwnerLock(path: path)
      var copies: [Int32] = []
      var name = [CChar](repeating: 0, count: 4096)
      for file in 3..<Int32(1 << 16) where copies.isEmpty {
        let count = readlink("/proc/self/fd/\(file)", &name, name.count)
        guard count > 0 else { continue }
        let target = String(
          decoding: name.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
        if target == path { copies.append(dup(file)) }
      }
      #expect(copies.count == 1)
      lock.release()
      let next = try OwnerLock(path: path)
      next.release()
      for copy in copies { close(copy) }
      unlink(path)
    }
  #endif

  @Test("The child of a fork may not read what its parent opened, and the parent goes on")
  func forkedReader() async throws {
    await #expect(processExitsWith: .success) {
      let backend = try MemoryBackend(
        MemoryStore(), name: "memory", options: StorageOptions(budget: nil))
      let tree = try await backend.tree(named: "main")
      let symbol = try #require(dlsym(nil, "fork"))
      let fork = unsafeBitCast(symbol, to: (@convention(c) () -> Int32).self)
      let child = fork()
      if child == 0 {
        do {
          _ = try backend.node(tree, "a")
        } catch {
          _exit((error as? StoreError)?.code == .invalid ? 0 : 2)
        }
        _exit(1)
      }
      var status: Int32 = 0
      waitpid(child, &status, 0)
      #expect(status == 0)
      #expect(try backend.node(tree, "a").isEmpty)
    }
  }

  @Test("The child of a fork does not let go of its parent's lock")
  func forked() async throws {
    let scratch = try Scratch()
    await #expect(processExitsWith: .success) { [path = scratch.path + "/owner" as String] in
      let lock = try OwnerLock(path: path)
      // Swift hides the call, since little may be done in the child.
      let symbol = try #require(dlsym(nil, "fork"))
      let fork = unsafeBitCast(symbol, to: (@convention(c) () -> Int32).self)
      let child = fork()
      if child == 0 {
        lock.release()
        _exit(0)
      }
      var status: Int32 = 0
      waitpid(child, &status, 0)
      let again = code { () throws(StoreError) in _ = try OwnerLock(path: path) }
      #expect(again == .busy)
      #expect(lock.isHeld)
    }
  }
}
