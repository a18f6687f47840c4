import ConiferKit
import ConiferTree
import Logging
import TestSupport
import Testing

/// A database without a server is read by other processes too, and takes no writes of theirs.
@Suite(.timeLimit(.minutes(10))) struct `A companion of a database without a server` {
  @Test func `reads what was written, and leaves nothing`() async throws {
    let scratch = try Scratch()
    var configuration = DatabaseConfiguration.local(storage: .sqlite(at: scratch.store))
    configuration.logger.logLevel = .critical
    let database = Database(configuration)
    let receipt = database.reference(withPath: "rooms/r1/name").enqueue(.set("Attic"))
    try await receipt.acknowledged()
    await database.close()
    let companion = CompanionDatabase(configuration)
    let room = try companion.getData(at: "rooms/r1")
    #expect(room.node == ["name": "Attic"])
    #expect(room.isComplete && room.pendingWrites == 0)
    #expect(throws: DatabaseError.self) { try companion.setValue("x", at: "rooms/r1/name") }
    companion.close()
    #expect(Scratch.names(scratch.path) == ["store"])
  }
}
