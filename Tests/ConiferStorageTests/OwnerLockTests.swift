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
