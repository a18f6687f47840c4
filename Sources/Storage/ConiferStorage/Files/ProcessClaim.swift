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

  /// Lets go of a file for another use.
  private typealias Yielding = @Sendable () -> Void

  /// The files that are claimed, and what lets go of them where something does.
  private static let uses = Mutex<[Use: Yielding?]>([:])
  private let use: Mutex<Use?>

  /// Claims a file; nil when something in this process has claimed it already.
  package init?(_ path: String) {
    let found = Use(path)
    use = Mutex(found)
    guard let found else { return }
    let isFree = Self.uses.withLock { uses in
      guard uses[found] == nil else { return false }
      uses.updateValue(nil, forKey: found)
      return true
    }
    guard !isFree else { return }
    use.withLock { $0 = nil }
    return nil
  }

  deinit { release() }

  /// Whether something in this process has claimed a file.
  package static func isMade(of path: String) -> Bool {
    guard let use = Use(path) else { return false }
    return uses.withLock { $0[use] != nil }
  }

  /// Lets go of the file when it is asked for.
  ///
  /// - Parameter yielding: called by ``askFor(_:)``, on its thread; it is to release this claim, as soon as it can.
  package func yields(_ yielding: @escaping @Sendable () -> Void) {
    guard let held = use.withLock({ $0 }) else { return }
    Self.uses.withLock { uses in
      if uses[held] != nil { uses.updateValue(yielding, forKey: held) }
    }
  }

  /// Asks whoever has claimed a file to let go of it, and waits for that as long as they do.
  package static func askFor(_ path: String) {
    guard let use = Use(path) else { return }
    let yielding: Yielding? = uses.withLock { uses in uses[use] ?? nil }
    yielding?()
  }

  /// Lets go of the file; a second call does nothing.
  package func release() {
    let held = use.withLock { use in
      defer { use = nil }
      return use
    }
    if let held { Self.uses.withLock { _ = $0.removeValue(forKey: held) } }
  }
}
