import ConiferDocumentServer
import ConiferEngine
import Synchronization

/// A client's time that is a pump's: its alarms are delivered among the messages.
final class PumpClock: EngineClock {
  private let pump: DocumentPump
  /// How far the time of day has been set forward.
  private let ahead = Mutex<Int64>(0)

  init(_ pump: DocumentPump) { self.pump = pump }

  var now: Int64 { pump.now.milliseconds }
  var wallTime: Int64 { 1_700_000_000_000 + now + ahead.withLock { $0 } }

  /// Somebody sets the time of day forward, or back.
  func jump(by milliseconds: Int64) { ahead.withLock { $0 += milliseconds } }

  func wake(at moment: Int64, _ body: @escaping @Sendable () -> Void) {
    pump.call(at: .milliseconds(max(moment, now)), body)
  }
}

extension Duration {
  /// Whole milliseconds.
  fileprivate var milliseconds: Int64 {
    components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000
  }
}
