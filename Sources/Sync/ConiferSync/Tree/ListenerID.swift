/// A listener: one of the app's, or one of the engine's own.
package enum ListenerID: Hashable, Sendable {
  /// One of the app's, which is told events; its number is never given twice in a process.
  case app(UInt64)
  /// One of the engine's own, which only keeps data up to date: it is told nothing, and `stopAll` does not end it. Its
  /// number is never given twice by an engine.
  case silent(UInt64)

  /// Its number among those of its kind.
  package var number: UInt64 {
    switch self {
    case .app(let number), .silent(let number): number
    }
  }

  /// Whether it is told nothing.
  package var isSilent: Bool { if case .silent = self { true } else { false } }
}
