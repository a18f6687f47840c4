import ConiferDocumentSync
import ConiferKeyValue
import Logging

/// What the storage failed at within a step; the loop goes offline at the step's end.
final class StepFaults {
  private(set) var events: [RemoteEvent] = []
  private(set) var hasFault = false
  private let logger: Logger

  init(_ logger: Logger) { self.logger = logger }

  /// Something could not be read or stored that the server is asked for again.
  func report(_ error: StoreError) {
    hasFault = true
    logger.error(
      "the storage failed; the server is asked again later", metadata: ["cause": "\(error)"])
  }

  /// An event could not be stored.
  func refuse(_ event: RemoteEvent) { events.append(event) }

  /// Takes what failed.
  func take() -> [RemoteEvent] {
    defer { (events, hasFault) = ([], false) }
    return events
  }
}
