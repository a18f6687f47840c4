import Dispatch
import Synchronization

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// Stops a store at one of its commits, before or behind it, as if whoever uses it had died there; its process follows a
/// moment later.
///
/// What other parts of the process do in that moment, they do as with a partner that was killed alone.
final class Death: Sendable {
  private let left: Mutex<Int>
  private let rest: Duration

  /// - Parameters:
  ///   - moment: how many beginnings and ends of commits come before; what is below zero never comes.
  ///   - rest: how much longer the process lives.
  init(at moment: Int, rest: Duration) {
    left = Mutex(moment)
    self.rest = rest
  }

  /// Counts a beginning or an end of a commit; does not return at the one that is meant, nor behind it.
  func mayGoOn() async {
    if isDue() { await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in } }
  }

  /// The same on a thread that waits.
  func mayGoOnWaiting() { if isDue() { while true { sleep(1000) } } }

  private func isDue() -> Bool {
    let left = self.left.withLock { left in
      if left > 0 { left -= 1 }
      return left
    }
    if left == 0 { Self.comes(after: rest) }
    return left == 0
  }

  /// Ends the process by what is not meant to happen: not as a kill does, so that nobody takes it for one.
  static func fail(_ error: any Error) -> Never {
    print("the program failed: \(error)")
    exit(EXIT_FAILURE)
  }

  /// Kills the process after a while.
  static func comes(after rest: Duration) {
    guard rest > .zero else {
      raise(SIGKILL)
      return
    }
    let nanoseconds = Int(rest.components.attoseconds / 1_000_000_000)
    DispatchQueue.global().asyncAfter(deadline: .now() + .nanoseconds(nanoseconds)) {
      raise(SIGKILL)
    }
  }
}
