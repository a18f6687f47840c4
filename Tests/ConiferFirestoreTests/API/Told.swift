import ConiferFirestore
import Foundation
import Synchronization

/// What a listener or a completion block was told.
final class Told<Value: Sendable>: Sendable {
  private let state = Mutex<(values: [Value], errors: [any Error])>(([], []))

  func add(_ value: Value?, _ error: (any Error)?) {
    state.withLock { state in
      if let value { state.values.append(value) }
      if let error { state.errors.append(error) }
    }
  }

  var values: [Value] { state.withLock { $0.values } }
  var codes: [FirestoreErrorCode.Code] {
    state.withLock { $0.errors.map { ($0 as? FirestoreError)?.code ?? .unknown } }
  }
  var messages: [String] {
    state.withLock { $0.errors.map { ($0 as? FirestoreError)?.message ?? "\($0)" } }
  }
}

/// What completion blocks were given: nil for those without an error.
final class Ends: Sendable {
  private let state = Mutex<[FirestoreErrorCode.Code?]>([])

  func add(_ error: (any Error)?) {
    let code = error.map { ($0 as? FirestoreError)?.code ?? .unknown }
    state.withLock { $0.append(code) }
  }

  var all: [FirestoreErrorCode.Code?] { state.withLock { $0 } }
}
