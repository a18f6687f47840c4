import Conifer
import ConiferLMDB
import ConiferSQLite
import ConiferServer
import ConiferStorage
import Foundation

/// The code of Docs/Guide.md and the README: `Scripts/excerpts` fails when a page shows other code, and
/// the tests beside it run most of it.
enum GuideSamples {
  struct Message: Codable, Equatable {
    var text: String
    var author: String
    @ServerTimestamp var sent: Date?
  }

  /// The app's sign-in, as the guide takes it.
  struct Session: Sendable {
    var user: String?
    var token: String
    var end: Date

    static func current(refreshing: Bool) async throws -> Session {
      Session(user: "ada", token: refreshing ? "t2" : "t1", end: .distantFuture)
    }
  }

  struct SignIn: TokenProvider {
    func token(forcingRefresh: Bool) async throws -> AuthToken? {
      let session = try await Session.current(refreshing: forcingRefresh)
      guard let user = session.user else { return nil }
      let expiry = Int64(session.end.timeIntervalSince1970 * 1000)
      return AuthToken(session.token, identity: user, expiry: expiry)
    }
  }

  /// What proves that the app is the app, as the guide takes it.
  struct Attestation: Sendable {
    var text: String
    var end: Date

    static func current(refreshing: Bool) async throws -> Attestation {
      Attestation(text: refreshing ? "a2" : "a1", end: .distantFuture)
    }
  }

  struct AppCheck: AppCheckProvider {
    func token(forcingRefresh: Bool) async throws -> AppCheckToken {
      let proof = try await Attestation.current(refreshing: forcingRefresh)
      return AppCheckToken(proof.text, expiry: Int64(proof.end.timeIntervalSince1970 * 1000))
    }
  }

  // MARK: The README

  static func readme(_ directory: String, _ transport: InProcessTransport) async throws {
    let database = Database(
      DatabaseConfiguration(
        namespace: "my-app", storage: .sqlite(at: directory), transport: transport))
    let room = database.reference(withPath: "rooms/r1")
    room.observe(.value) { snapshot in
      print(snapshot.childSnapshot(forPath: "name").value as? String ?? "no name")
    }
    let receipt = room.child("name").enqueue(.set("Attic"))
    print("queued, \(try await receipt.durable)")
    try await receipt.acknowledged()
    await database.close()
  }

  // MARK: In the background

  static func background(
    _ database: Database, _ deadline: Date, _ scheduleUpload: () -> Void
  ) async throws {
    let left = try await database.drain(until: deadline)
    if left.pending > 0 { scheduleUpload() }
    try await database.suspend()
  }

  // MARK: Widgets and extensions

  static func companion(_ groupDirectory: String) throws -> Any? {
    let companion = CompanionDatabase(
      DatabaseConfiguration(namespace: "my-app", storage: .sqlite(at: groupDirectory)))
    let name = try companion.getData(at: "rooms/r1/name").value
    try companion.setValue("Attic", at: "rooms/r1/name")
    companion.close()
    return name
  }

  // MARK: Setting up

  static func open(_ directory: String, _ transport: InProcessTransport) -> Database {
    var configuration = DatabaseConfiguration(
      namespace: "my-app", storage: .sqlite(at: directory), transport: transport)
    configuration.options.budget = 50 << 20
    configuration.tokenProvider = SignIn()
    let database = Database(configuration)
    return database
  }

  static func shared(_ configuration: DatabaseConfiguration) -> DatabaseReference {
    Database.configure(configuration)
    Database.database().isPersistenceEnabled = true
    let root = Database.database().reference()
    return root
  }

  static func inMemory(_ transport: InProcessTransport) -> Database {
    let database = Database(DatabaseConfiguration(namespace: "my-app", transport: transport))
    return database
  }

  static func callbacks(
    _ configuration: inout DatabaseConfiguration, _ model: some Actor, _ queue: DispatchQueue
  ) {
    configuration.callbackQueue = .main
    configuration.callbackQueue = .queue(queue)
    configuration.callbackQueue = .actor(model)
  }

  // MARK: Reading

  static func listen(_ database: Database, _ show: @escaping (String) -> Void) {
    let room = database.reference(withPath: "rooms/r1")
    let handle = room.observe(.value) { snapshot in
      show(snapshot.childSnapshot(forPath: "name").value as? String ?? "no name")
    } withCancel: { error in
      show(error.localizedDescription)
    }
    room.removeObserver(withHandle: handle)
  }

  static func sequences(_ database: Database, _ show: ([Message]) -> Bool) async throws {
    let chat = database.reference(withPath: "chats/c1")
    for try await messages in chat.queryLimited(toLast: 50).values(as: [Message].self) {
      if !show(messages ?? []) { break }
    }
  }

  static func batches(_ database: Database, _ count: Int) async throws -> [String] {
    let chat = database.reference(withPath: "chats/c1")
    var texts: [String] = []
    for try await events in chat.childEventBatches() {
      for case .childAdded(let message, _) in events {
        texts.append(try message.data(as: Message.self).text)
      }
      if texts.count >= count { break }
    }
    return texts
  }

  static func once(_ database: Database) async throws -> String? {
    let room = database.reference(withPath: "rooms/r1")
    let snapshot = try await room.child("name").getData()
    let name = snapshot.value as? String
    return name
  }

  static func policies(_ database: Database) async throws -> [String] {
    let room = database.reference(withPath: "rooms/r1")
    let here = try await room.getData(policy: .cache)
    let soon = try await room.getData(policy: .server(within: 2, orCache: true))
    let recent = try await room.getData(policy: .cache(notOlderThan: 300))
    return [here, soon, recent].map { age(of: $0) }
  }

  static func age(of snapshot: DataSnapshot) -> String {
    let metadata = snapshot.metadata
    if !metadata.isFromCache { return "up to date" }
    guard metadata.wasEverComplete else { return "only what was written here" }
    return metadata.hasPendingWrites ? "cached, with changes of your own" : "cached"
  }

  static func query(_ database: Database) -> DatabaseQuery {
    let tallest = database.reference(withPath: "dinosaurs")
      .queryOrdered(byChild: "height").queryStarting(atValue: 2).queryLimited(toLast: 10)
    return tallest
  }

  // MARK: Writing

  static func write(_ database: Database, _ show: @escaping (String) -> Void) {
    let room = database.reference(withPath: "rooms/r1")
    room.setValue(["name": "Kitchen", "seats": 4])
    room.child("name").setValue("Attic") { error, reference in
      show(error?.localizedDescription ?? "\(reference.path) is saved")
    }
  }

  static func writeAndWait(_ database: Database) async throws -> WriteReceipt {
    let room = database.reference(withPath: "rooms/r1")
    try await room.child("seats").setValue(5)
    let receipt = room.child("floor").enqueue(.set(3))
    return receipt
  }

  static func fanOut(_ database: Database, _ post: [String: Any]) async throws {
    guard let key = database.reference(withPath: "posts").childByAutoId().key else { return }
    try await database.reference().updateChildValues([
      "posts/\(key)": post, "users/ada/posts/\(key)": post, "users/ada/draft": NSNull(),
    ])
  }

  static func serverValues(_ database: Database) async throws {
    let post = database.reference(withPath: "posts/p1")
    try await post.updateChildValues([
      "edited": ServerValue.timestamp(), "stars": ServerValue.increment(1),
    ])
  }

  static func transaction(_ database: Database) async throws -> Int? {
    let stars = database.reference(withPath: "posts/p1/stars")
    let (committed, snapshot) = try await stars.runTransactionBlock { data in
      data.value = (data.value as? Int ?? 0) + 1
      return .success(withValue: data)
    }
    return committed ? snapshot.value as? Int : nil
  }

  static func presence(_ database: Database) {
    let online = database.reference(withPath: "users/ada/online")
    database.reference(withPath: ".info/connected").observe(.value) { snapshot in
      guard snapshot.value as? Bool == true else { return }
      online.onDisconnectSetValue(false)
      online.setValue(true)
    }
  }

  static func user(_ database: Database, _ show: (String) -> Bool) async {
    for await state in database.authStates {
      let goesOn =
        switch state {
        case .signedOut: show("nobody")
        case .known(let user): show("\(user), not yet checked")
        case .signedIn(let user): show(user)
        case .expired(let user, let error): show("\(user) must sign in again: \(error.message)")
        }
      guard goesOn else { return }
    }
  }

  static func coding(_ database: Database) async throws -> [Message] {
    let chat = database.reference(withPath: "chats/c1")
    try await chat.childByAutoId().setValue(from: Message(text: "Hello", author: "ada"))
    let messages = try await chat.getData().data(as: [Message].self)
    return messages
  }

  // MARK: Following writes

  static func follow(_ database: Database) async throws -> String? {
    let room = database.reference(withPath: "rooms/r1")
    let receipt = room.child("name").enqueue(.set("Attic"))
    let id = try await receipt.id
    let durability = try await receipt.durable
    print("\(id?.description ?? "") survives \(durability)")
    return id?.description
  }

  static func outcome(
    _ database: Database, _ saved: String, _ show: (String) -> Void
  ) async throws {
    guard let id = WriteReceipt.ID(saved) else { return }
    switch try await database.outcome(of: id) {
    case .acknowledged: show("saved")
    case .superseded(let later): show("replaced by \(later)")
    case .rejected(let error): show("refused: \(error.message)")
    case .discarded, .failed: show("given up")
    }
  }

  static func clean(_ database: Database, _ shorten: (Any?) -> Any?) async throws {
    for write in try await database.rejectedWrites() {
      guard case .rejected(let error) = write.state else { continue }
      switch error.code {
      case .permissionDenied: try await database.discard(write.id)
      case .tooLarge: _ = try await database.edit(write.id, to: shorten(write.value))
      default: try await database.retry(write.id)
      }
    }
  }

  static func look(
    _ database: Database, _ room: DatabaseReference, _ show: (String) -> Void
  ) async throws {
    let space = try await database.space()
    show("\(space.cache) bytes of cache, \(space.queue) of waiting writes")
    let explained = try await database.explain(room.queryOrdered(byChild: "age"))
    if let index = explained.lookup.hint { show("add \(index.rule)") }
    for incident in try await database.incidents().incidents { show("\(incident)") }
  }

  static func move(
    _ earlier: String, _ directory: String, _ show: @escaping @Sendable (String) -> Void
  ) async throws -> Database {
    let storage = StorageConfiguration.sqlite(at: directory)
    _ = try await StorageMigration(from: .lmdb(at: earlier), to: storage).run { progress in
      show("\(progress.step): \(progress.done) of \(progress.total) bytes")
    }
    let database = Database(DatabaseConfiguration(namespace: "my-app", storage: storage))
    return database
  }

  static func watch(
    _ database: Database, _ show: @escaping @Sendable (String) -> Void
  ) -> UsageObservation {
    let observation = database.observeUsage(UsageLimits(pendingWrites: 1000, cacheBytes: 8 << 20)) {
      show($0.isOver ? "\($0.measure) is at \($0.value)" : "\($0.measure) is in bounds again")
    }
    return observation
  }

  static func errors(_ room: DatabaseReference, _ show: (String) -> Void) async {
    do throws(DatabaseError) {
      try await room.child("name").setValue("Attic")
    } catch {
      switch error.code {
      case .permissionDenied: show("You may not rename this room.")
      case .storageFull: show("The disk is full: nothing was saved.")
      default: show(error.localizedDescription)
      }
    }
  }
}
