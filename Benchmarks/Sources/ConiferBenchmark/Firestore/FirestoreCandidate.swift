import ConiferDocument
import ConiferDocumentServer
import ConiferFirestore
import ConiferKeyValue
import ConiferStorage
import Foundation

/// One backend below the client, with the stores that stay for all rounds.
final class FirestoreCandidate {
  /// A database that is offline.
  struct Opened {
    let storage: ClientStorage
    let firestore: Firestore

    /// Returns once all that was asked for before is done.
    func waitUntilIdle() async throws { try await firestore.disableNetwork() }
  }

  /// The stores that the first round makes.
  private struct Kept {
    /// All documents, and no writes but those of the measurements.
    let alone: Opened
    /// The same, with writes that wait in other collections.
    let beside: Opened
    /// The same, with writes that wait in the first room, to documents that no query by a score gives.
    let among: Opened
    /// The same documents in the first room, told by the server.
    let told: Opened
    /// Where a store is that is opened with many writes; nil of one that cannot be opened again.
    let full: String?
  }

  let name: String
  let plan: FirestoreComparison.Plan
  let sample: SampleRooms
  private let backend: ClientComparison.Backend
  let directory: String
  private let server: DocumentServer
  private var kept: Kept?

  init(
    _ backend: ClientComparison.Backend, in directory: String, plan: FirestoreComparison.Plan,
    sample: SampleRooms, server: DocumentServer
  ) {
    name = backend.name
    self.backend = backend
    self.directory = directory
    self.plan = plan
    self.sample = sample
    self.server = server
  }

  /// Whether what it stores can be opened again.
  private var isPersistent: Bool { storage("").location != nil }

  private func storage(_ path: String) -> StorageConfiguration {
    var options = StorageOptions()
    options.budget = nil
    return backend.configuration(path, options)
  }

  private func path(_ name: String) throws -> String {
    let path = "\(directory)/\(name)"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    return path
  }

  private func remove(_ name: String) {
    try? FileManager.default.removeItem(atPath: "\(directory)/\(name)")
  }

  /// A database.
  ///
  /// - Parameter isOnline: whether it has a way to the server.
  private func database(_ path: String, isOnline: Bool = false) -> Opened {
    let storage = ClientStorage(storage(path))
    var configuration = FirestoreConfiguration(
      projectID: SampleRooms.database.project, storage: storage.configuration,
      transport: isOnline ? server.transport(to: SampleRooms.database) : nil)
    configuration.cacheSizeBytes = nil
    return Opened(storage: storage, firestore: Firestore(configuration))
  }

  // MARK: A round

  /// Measures all of it once.
  func measure(
    _ round: Int, into record: inout FirestoreRecord, progress: (String) -> Void
  ) async throws {
    progress("loads")
    let own = try await RoomStore(storage(path("own")))
    record.add(.loadBackend, name, [try await load(own)])
    let client = database(try path("client"), isOnline: true)
    record.add(.loadClient, name, [try await load(client)])
    if isPersistent {
      try await own.close()
      try await client.firestore.terminate()
    } else {
      try await client.firestore.disableNetwork()
    }
    if kept == nil {
      progress("makes its stores")
      kept = try await makeKept(client)
    }
    progress("is listened to")
    try await listenToMany(own, client, &record)
    if !isPersistent {
      try await own.close()
      if round > 0 { try await client.firestore.terminate() }
    }
    remove("own")
    remove("client")
    guard let kept else { return }
    try await measureWrites(round, kept.alone, kept.beside, &record)
    try await measureDurability(round, kept.alone, &record)
    try await measureAmong(round, kept.alone, kept.among, kept.told, &record)
    try await measureBeginnings(round, kept.alone, kept.beside, &record)
    try await measureFanOut(round, kept.alone, &record)
    if let full = kept.full {
      progress("is opened")
      for number in 0..<3 {
        record.add(.open, name, [try await open(full, 3 * round + number)])
      }
    }
  }

  /// Makes what stays of the first round's store.
  private func makeKept(_ client: Opened) async throws -> Kept {
    guard isPersistent else {
      var others: [Opened] = []
      for drafts in [Drafts.elsewhere, .firstRoom, .told] {
        let other = database("", isOnline: true)
        _ = try await load(other)
        try await other.firestore.disableNetwork()
        if let backend = other.storage.backend {
          try await RoomStore.add(plan.pending, drafts, in: backend)
        }
        others.append(other)
      }
      return Kept(
        alone: client, beside: others[0], among: others[1], told: others[2], full: nil)
    }
    var paths: [String] = []
    for (name, drafts, count) in [
      ("alone", Drafts.elsewhere, 0), ("beside", .elsewhere, plan.pending),
      ("among", .firstRoom, plan.pending), ("told", .told, plan.pending),
      ("full", .elsewhere, plan.queued),
    ] {
      let path = "\(directory)/\(name)"
      try FileManager.default.copyItem(atPath: self.path("client"), toPath: path)
      paths.append(path)
      let backend = try storage(path).open()
      try await RoomStore.add(count, drafts, in: backend)
      try await backend.close()
    }
    return Kept(
      alone: database(paths[0]), beside: database(paths[1]), among: database(paths[2]),
      told: database(paths[3]), full: paths[4])
  }

  /// Ends what is open.
  func close() async throws {
    for opened in [kept?.alone, kept?.beside, kept?.among, kept?.told] {
      try await opened?.firestore.terminate()
    }
  }

  // MARK: Above the backend

  /// Microseconds a document that the backend takes alone.
  private func load(_ store: RoomStore) async throws -> Sample {
    let collections = sample.collections
    return try await onThread {
      let clock = ThreadClock.ofThisThread
      let (watch, before) = (Watch(), clock?.seconds ?? 0)
      try store.load(collections)
      var time = watch.sample
      if let after = clock?.seconds { time.processor = after - before }
      return time
    }.scaled(1e6 / Double(plan.documents + plan.many))
  }

  /// Microseconds a document until a client has all that the server tells: twice ten rooms at a time, each until its
  /// listener has the server's word.
  private func load(_ client: Opened) async throws -> Sample {
    let ear = Ear()
    let firestore = client.firestore
    // Connected from here on.
    ear.expect(1)
    let first = firestore.collection("nothing").listen(ear) { !$0.metadata.isFromCache }
    _ = try await ear.wait()
    let before = client.storage.engineTime
    let watch = Watch()
    // Two at once, so that the server reads for one what the client stores of the other.
    let rooms = sample.rooms.count
    async let odd: Void = Self.listenToRooms(10, of: rooms, firestore)
    try await Self.listenToRooms(0, of: rooms, firestore)
    try await odd
    try await ear.listen(to: [SampleRooms.archive], of: firestore, documents: plan.many) {
      !$0.metadata.isFromCache
    }
    // What follows of the last listener's end counts, too.
    try await firestore.disableNetwork()
    var time = watch.sample
    if let before, let after = client.storage.engineTime { time.processor = after - before }
    first.remove()
    try await firestore.enableNetwork()
    return time.scaled(1e6 / Double(plan.documents + plan.many))
  }

  /// Listens to every other ten rooms, each until its listener has the server's word.
  private static func listenToRooms(
    _ first: Int, of count: Int, _ firestore: Firestore
  ) async throws {
    let ear = Ear()
    for start in stride(from: first, to: count, by: 20) {
      let rooms = (start..<min(start + 10, count)).map(SampleRooms.room)
      try await ear.listen(
        to: rooms, of: firestore, documents: rooms.count * SampleRooms.messages
      ) { !$0.metadata.isFromCache }
    }
  }

  /// The query of many documents on the backend and as a listener's first event, in turns, each time from files opened just
  /// now, or in memory from what was loaded.
  private func listenToMany(
    _ own: RoomStore, _ client: Opened, _ record: inout FirestoreRecord
  ) async throws {
    var times: (backend: [Sample], client: [Sample]) = ([], [])
    for _ in 0..<5 {
      let own = isPersistent ? try await RoomStore(storage(path("own"))) : own
      times.backend.append(try await queryMany(own))
      if isPersistent { try await own.close() }
      let client = isPersistent ? database(try path("client")) : client
      times.client.append(try await listenToMany(client))
      if isPersistent { try await client.firestore.terminate() }
    }
    record.add(.listenBackend, name, times.backend.map { $0.scaled(1000) })
    record.add(.listenClient, name, times.client.map { $0.scaled(1000) })
  }

  private func queryMany(_ store: RoomStore) async throws -> Sample {
    let (name, many) = (name, plan.many)
    return try await onThread {
      // What is done but once is done.
      _ = try store.count(SampleRooms.room(0))
      let watch = Watch()
      guard try store.count(SampleRooms.archive) == many else {
        throw BenchmarkFailure.lost(name, "what was given")
      }
      return watch.sample
    }
  }

  private func listenToMany(_ client: Opened) async throws -> Sample {
    let ear = Ear()
    try await ear.listen(
      to: [SampleRooms.room(0)], of: client.firestore, documents: SampleRooms.messages)
    try await client.waitUntilIdle()
    ear.expect(1)
    let watch = Watch()
    let listener = client.firestore.collection(SampleRooms.archive).listen(ear)
    let (_, found) = try await ear.wait()
    let time = watch.sample
    listener.remove()
    guard found == plan.many else { throw BenchmarkFailure.lost(name, "what was given") }
    return time
  }

  // MARK: Opening

  /// Milliseconds from nothing until a listener's first event.
  private func open(_ path: String, _ number: Int) async throws -> Sample {
    let ear = Ear()
    ear.expect(1)
    let room = number * 7 % sample.rooms.count
    let watch = Watch()
    let opened = database(path)
    let listener = opened.firestore.collection(SampleRooms.room(room)).listen(ear)
    let found = try await ear.wait().documents
    let time = watch.sample
    listener.remove()
    try await opened.firestore.terminate()
    guard found == SampleRooms.messages else {
      throw BenchmarkFailure.lost(name, "what was given")
    }
    return time.scaled(1000)
  }
}
