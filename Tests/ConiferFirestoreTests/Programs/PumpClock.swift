import ConiferDocumentServer
import ConiferEngine

/// A client's time that is a pump's: its alarms are delivered among the messages.
final class PumpClock: EngineClock {
  private let pump: DocumentPump

  init(_ pump: DocumentPump) { self.pump = pump }

  var now: Int64 { pump.now.milliseconds }
  var wallTime: Int64 { 1_700_000_000_000 + now }

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
