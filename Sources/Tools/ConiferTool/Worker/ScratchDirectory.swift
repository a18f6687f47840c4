import ConiferKeyValue
import ConiferStorage

/// A directory for temporary files that goes with its owner, and with the process when that is interrupted; what a killed
/// process left there goes with the next one that is made.
///
/// A lock in it says that its process lives, so that a sweep takes nothing from another container's process.
final class ScratchDirectory: Sendable {
  private static let prefix = "conifer-copy"

  let path: String
  private let lock: OwnerLock

  /// Makes the directory in the one for temporary files.
  ///
  /// - Throws: `denied`, `full`, `io`; `no-input` when the directory for temporary files is not there.
  init() throws {
    Self.sweep(Platform.temporaryRoot)
    path = try Interruption.removing { () throws(Failure) in
      try Platform.temporaryDirectory(prefix: Self.prefix)
    }
    do throws(StoreError) {
      lock = try OwnerLock(path: path + "/owner")
    } catch {
      Directory.remove(path)
      Interruption.needNotRemove(path)
      throw error
    }
  }

  deinit { remove() }

  /// Removes the directory with all in it.
  func remove() {
    Directory.remove(path)
    Interruption.needNotRemove(path)
    lock.release()
  }

  /// Removes what killed processes of this user left in a directory.
  static func sweep(_ root: String) {
    for name in (try? Directory.names(in: root)) ?? [] where name.hasPrefix(prefix + "-") {
      let path = "\(root)/\(name)"
      // One without a lock's file is just being made.
      guard Platform.isOwnDirectory(path), Platform.exists(path + "/owner") else { continue }
      try? StoreOwner.look(in: path) { owner in
        guard !owner.isOpen else { return }
        // The lock's file last: without it the rest would not be known for what it is.
        for name in (try? Directory.names(in: path)) ?? [] where name != "owner" {
          Directory.remove("\(path)/\(name)")
        }
        Directory.remove(path)
      }
    }
  }
}
