import ConiferKeyValue
import Synchronization

/// The damaged records that stay where they are, from the moment that something met them until they are reported; safe
/// on any thread.
final class LeftDamage: Sendable {
  private struct State {
    var met: Set<StoreError.Place> = []
    var unreported: [StoreError.Place] = []
  }

  /// More are not remembered: those of before are reported, and `verify` finds all.
  private static let most = 1024
  private let state = Mutex(State())

  /// Something met a record.
  func met(_ place: StoreError.Place) {
    state.withLock { state in
      guard state.met.count < Self.most, state.met.insert(place).inserted else { return }
      state.unreported.append(place)
    }
  }

  /// Whether something is to be reported.
  var hasUnreported: Bool { state.withLock { !$0.unreported.isEmpty } }

  /// What is to be reported, once.
  func take() -> [StoreError.Place] {
    state.withLock { state in
      defer { state.unreported = [] }
      return state.unreported
    }
  }

  /// A record could not be reported: who meets it again notes it again.
  func forget(_ place: StoreError.Place) { _ = state.withLock { $0.met.remove(place) } }
}
