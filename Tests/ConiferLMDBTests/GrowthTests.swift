import ConiferKeyValue
import ConiferLMDB
import ConiferLeafStore
import ConiferTree
import Synchronization
import Testing

@testable import ConiferStorage

/// The file of LMDB never shrinks, and nothing in it is used again while a view is held.
@Suite(.serialized) struct GrowthTests {
  @Test(arguments: [1, 100])
  func `A tree is mended beside commits, and the file grows by less than it held`(
    edits: Int
  ) throws {
    let directory = TemporaryDirectory()
    let store = try LMDBStore(at: directory.path)
    let engine = PackedEngine(
      store, StorageOptions(budget: nil, compression: .none), Activity(after: 0))
    let tree = try engine.committer.tree("main", .realtimeDatabase, .process)
    let (rooms, messages) = (8, 6000)
    let text = String(repeating: "x", count: 150)
    for room in 0..<rooms {
      let children = (0..<messages).map { (Key("m\($0)"), Node(.string("\($0) \(text)"))) }
      let edit = StorageEdit.overwrite(tree, Path("rooms/r\(room)"), Node(children: children))
      #expect(engine.group([[edit]]) == [nil])
    }
    var number = 0
    /// Changes leaves that lie far from each other.
    func commit() {
      let some = (0..<edits).map { _ in
        number += 1
        let (room, message) = (number % rooms, number &* 7919 % messages)
        return StorageEdit.overwrite(
          tree, Path("rooms/r\(room)/m\(message)"), Node(.string("\(number) \(text)")))
      }
      #expect(engine.group([some]) == [nil])
    }
    // What the same takes without mending.
    for _ in 0..<100 { commit() }
    let before = try store.size().file
    try engine.writer.change(.relaxed) { (tx) throws(StoreError) in try MendingMarker.add(tx, tree)
    }
    var commits = 0
    while engine.mender.hasWork {
      commit()
      commits += 1
    }
    #expect(commits > 3)
    let grown = try store.size().file - before
    #expect(grown < before, "\(before) and \(grown) bytes, \(commits) commits")
    try store.close()
  }
}

extension PackedEngine {
  /// Applies commits as one group and gives the errors that they were answered with.
  fileprivate func group(_ commits: [[StorageEdit]]) -> [StoreError.Code?] {
    let answers = Mutex<[StoreError.Code?]>([])
    _ = drain(
      commits.map { edits in
        .commit(
          Pending(edits: edits, durability: .relaxed) { answer in
            answers.withLock { list in
              do throws(StoreError) {
                _ = try answer.get()
                list.append(nil)
              } catch { list.append(error.code) }
            }
          })
      })
    return answers.withLock { $0 }
  }
}
