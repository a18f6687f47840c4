internal import Synchronization

/// The use of a file by this process alone, known to all that is in the process and to nobody else.
package final class ProcessClaim: Sendable {
  private struct Use: Hashable {
    let file: FileIdentity
    /// The child of a fork uses nothing of what its parent does.
    let process: Int

    init?(_ path: String) {
      guard let file = FileIdentity(path) else { return nil }
      self.file = file
      process = Platform.processStamp
    }
  }

  private static let uses = Mutex<Set<Use>>([])
  private let use: Mutex<Use?>

  /// Claims a file; nil when something in this process has claimed it already.
  package init?(_ path: String) {
    let found = Use(path)
    use = Mutex(found)
    guard let found, !Self.uses.withLock({ $0.insert(found).inserted }) else { return }
    use.withLock { $0 = nil }
    return nil
  }

  deinit { release() }

  /// Whether something in this process has claimed a file.
  package static func isMade(of path: String) -> Bool {
    guard let use = Use(path) else { return false }
    return uses.withLock { $0.contains(use) }
  }

  /// Lets go of the file; a second call does nothing.
  package func release() {
    let held = use.withLock { use in
      defer { use = nil }
      return use
    }
    if let held { Self.uses.withLock { _ = $0.remove(held) } }
  }
}
