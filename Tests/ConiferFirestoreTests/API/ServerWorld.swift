import ConiferDocument
import ConiferDocumentServer
import ConiferEngine
import ConiferStorage
import Logging
import TestSupport
import Testing

@testable import ConiferFirestore

/// Databases of apps on a server within the process.
final class ServerWorld {
  let server: DocumentServer
  let database = DatabaseID(project: "test")
  private var scratches: [Scratch] = []

  init(_ configuration: DocumentServerConfiguration = DocumentServerConfiguration()) throws {
    server = try DocumentServer(configuration)
  }

  /// What an app's database is made with, on a store of its own.
  func configuration(_ store: EngineStore = .memory) throws -> FirestoreConfiguration {
    let scratch = try Scratch()
    scratches.append(scratch)
    var configuration = FirestoreConfiguration(
      projectID: "test", storage: store.configuration(at: scratch.store),
      transport: server.transport(to: database))
    configuration.logger.logLevel = .critical
    configuration.clock = PatientClock()
    configuration.housekeeping = .off
    return configuration
  }

  func firestore(
    _ store: EngineStore = .memory, _ clock: PatientClock = PatientClock()
  ) throws -> Firestore {
    var configuration = try configuration(store)
    configuration.clock = clock
    return Firestore(configuration)
  }
}

extension DocumentReference {
  /// The first snapshot that is as wanted.
  func first(_ isWanted: (DocumentSnapshot) -> Bool) async throws -> DocumentSnapshot {
    for try await snapshot in snapshots(includeMetadataChanges: true) where isWanted(snapshot) {
      return snapshot
    }
    throw FirestoreError(.internal, "The sequence ended.")
  }
}

extension Query {
  /// The first snapshot that is as wanted.
  func first(_ isWanted: (QuerySnapshot) -> Bool) async throws -> QuerySnapshot {
    for try await snapshot in snapshots(includeMetadataChanges: true) where isWanted(snapshot) {
      return snapshot
    }
    throw FirestoreError(.internal, "The sequence ended.")
  }

  /// The ids of what the server gives.
  var ids: [String] {
    get async throws { try await getDocuments(source: .server).documents.map(\.documentID) }
  }
}
