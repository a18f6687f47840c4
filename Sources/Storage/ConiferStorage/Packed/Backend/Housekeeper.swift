import ConiferKeyValue
import ConiferLeafStore

/// Keeps runs well packed: passes of ``TidyPass``, a step at a time, until one finds nothing to do.
final class Housekeeper {
  private let writer: StoreWriter
  private let repairer: Repairer
  private var pass = TidyPass()
  /// The newest commit when the pass began.
  private var passBegan = CommitID(rawValue: 0)
  /// The commit after which a complete pass found nothing to do.
  private var tidied: CommitID?

  init(_ writer: StoreWriter, _ repairer: Repairer) {
    self.writer = writer
    self.repairer = repairer
  }

  /// Whether nothing was committed since a whole pass found nothing to do.
  var isTidy: Bool { tidied == writer.lastCommit }

  /// Forgets what was known of the store, which another process may have had since.
  func forget() { tidied = nil }

  /// Runs passes until nothing is left to do or the slice is over.
  func tidy(until isOver: () -> Bool) throws(StoreError) {
    while !isTidy, !isOver() {
      if pass.isAtStart { passBegan = writer.lastCommit }
      let isDone: Bool
      do throws(StoreError) {
        isDone = try repairer.retrying { (_) throws(StoreError) in
          let (next, isDone) = try step()
          pass = next
          return isDone
        }
      } catch {
        // The next run of the pass is in a tree whose key was erased.
        if error.code == .wrongKey { pass = TidyPass() }
        throw error
      }
      if isDone, passBegan == writer.lastCommit { tidied = writer.lastCommit }
    }
  }

  private func step() throws(StoreError) -> (TidyPass, isDone: Bool) {
    do throws(StoreError) {
      let isQuiet = passBegan == writer.lastCommit
      return try writer.change(.process) { (tx) throws(StoreError) in
        try pass.step(tx, isQuiet: isQuiet)
      }
    } catch {
      guard repairer.policy.leavesAsIs(error) else { throw error }
      repairer.policy.note(error)
      // Damage that must not be set aside is left as it is, with the neighbouring runs.
      return try writer.read { (view) throws(StoreError) in try pass.skip(view) }
    }
  }
}
