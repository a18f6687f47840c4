import ConiferKeyValue
import Synchronization

/// Tells somebody each report of damage of a store once, such as a server's log.
package final class IncidentLog: Sendable {
  // The store holds this as its observer.
  private weak let backend: (any StorageBackend)?
  private let report: @Sendable (Incident) -> Void
  /// The position behind all that was told; nil when nothing could be read yet.
  private let told = Mutex<IncidentPosition?>(nil)

  private init(_ backend: any StorageBackend, _ report: @escaping @Sendable (Incident) -> Void) {
    self.backend = backend
    self.report = report
  }

  /// Tells the reports of the store itself that are there, and all that come while the store is open.
  ///
  /// Reports that cannot be read are told later, with the next one.
  package static func follow(
    _ backend: any StorageBackend, _ report: @escaping @Sendable (Incident) -> Void
  ) {
    let log = IncidentLog(backend, report)
    log.tell()
    // A handler must not call the store.
    backend.observeIncidents { Task { log.tell() } }
  }

  private func tell() {
    guard let backend else { return }
    told.withLock { told in
      while true {
        let known = told
        let news = try? backend.read { (view) throws(StoreError) in
          // At first those of trees are old.
          let position =
            if let known { known } else {
              try view.incidentPosition().without(TreeID(rawValue: 0))
            }
          return try view.incidents(after: position, limit: 100) { _ in true }
        }
        guard let news else { return }
        told = news.end
        for incident in news.incidents { report(incident) }
        guard news.hasMore else { return }
      }
    }
  }
}
