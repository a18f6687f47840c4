import CCounter
import ConiferDocument
import ConiferFirestore
import Foundation

// What an app's listeners hear of its own writes, offline.
extension FirestoreCandidate {
  /// Writes to a room's documents until the listener hears each, on a database without waiting writes and on one with
  /// many elsewhere, in turns.
  func measureWrites(
    _ round: Int, _ alone: Opened, _ beside: Opened, _ record: inout FirestoreRecord
  ) async throws {
    let number = round % sample.rooms.count
    try await measureWrites(
      round, to: number, [(.write, alone), (.writeBeside, beside)], &record
    ) { $0.collection(SampleRooms.room(number)) }
  }

  /// The same of a query of the first room, on a database without waiting writes and on one in which many wait in that room,
  /// to documents that the query does not give; and what the query's first event takes, also where the server has told of the
  /// same documents and nothing waits.
  func measureAmong(
    _ round: Int, _ alone: Opened, _ among: Opened, _ told: Opened,
    _ record: inout FirestoreRecord
  ) async throws {
    func query(_ firestore: Firestore) -> Query {
      firestore.collection(SampleRooms.room(0)).whereField("score", isGreaterThan: -1_000_000)
    }
    try await measureWrites(
      round, to: 0, [(.writeFound, alone), (.writeAmong, among)], &record, query)
    var times: [FirestoreWork: [Sample]] = [:]
    for _ in 0..<min(10, plan.repetitions) {
      for (work, opened) in [
        (FirestoreWork.firstFound, alone), (.firstAmong, among), (.firstTold, told),
      ] {
        times[work, default: []].append(try await firstEvent(query(opened.firestore), opened))
      }
    }
    for (work, own) in times { record.add(work, name, own) }
  }

  /// Writes to a room's documents until the listener of a query hears each, on databases in turns.
  private func measureWrites(
    _ round: Int, to room: Int, _ databases: [(FirestoreWork, Opened)],
    _ record: inout FirestoreRecord, _ query: (Firestore) -> Query
  ) async throws {
    let documents = sample.rooms[room]
    var times: [FirestoreWork: [Sample]] = [:]
    let ear = Ear()
    var listeners: [any ListenerRegistration] = []
    for (_, opened) in databases {
      ear.expect(1)
      listeners.append(query(opened.firestore).listen(ear))
      _ = try await ear.wait()
    }
    for number in 0..<plan.repetitions {
      let path = documents[number % documents.count].path.description
      for (work, opened) in databases {
        let document = opened.firestore.document(path)
        ear.expect(1)
        let watch = Watch()
        let receipt = document.enqueue(
          .set(["score": Self.value(round, number) + work.offset], merge: true))
        let at = try await ear.wait().at
        var time = watch.sample
        time.wall = watch.wall(until: at)
        times[work, default: []].append(time.scaled(1000))
        // What follows must not fall into the next measurement.
        _ = try await receipt.durable
      }
    }
    for listener in listeners { listener.remove() }
    for (_, opened) in databases { try await opened.waitUntilIdle() }
    for (work, own) in times { record.add(work, name, own) }
  }

  /// Writes to a room's documents until each is durable, while a listener hears them, beside raw flushes.
  func measureDurability(
    _ round: Int, _ alone: Opened, _ record: inout FirestoreRecord
  ) async throws {
    let documents = sample.rooms[round % sample.rooms.count]
    var times: [FirestoreWork: [Sample]] = [:]
    let ear = Ear()
    ear.expect(1)
    let listener = alone.firestore.collection(SampleRooms.room(round % sample.rooms.count))
      .listen(ear)
    _ = try await ear.wait()
    let flush = try RawFlush(in: directory)
    var flushes: [Double] = []
    for number in 0..<plan.repetitions {
      let path = documents[number % documents.count].path.description
      times[.flush, default: []].append(flush.sample.scaled(1000))
      ear.expect(1)
      let before = counter_read().flushes
      let watch = Watch()
      let receipt = alone.firestore.document(path)
        .enqueue(.set(["score": -Self.value(round, number)], merge: true))
      _ = try await receipt.durable
      times[.durable, default: []].append(watch.sample.scaled(1000))
      flushes.append(Double(counter_read().flushes - before))
      _ = try await ear.wait()
    }
    listener.remove()
    try await alone.waitUntilIdle()
    for (work, own) in times { record.add(work, name, own) }
    if counter_is_available() { record.add(.flushes, name, median(flushes)) }
  }

  /// A number that no other write of the document has.
  private static func value(_ round: Int, _ number: Int) -> Int {
    10_000 * (round + 1) + number + 1
  }

  /// Listeners that begin on rooms of cached documents until the first event, on both databases in turns.
  func measureBeginnings(
    _ round: Int, _ alone: Opened, _ beside: Opened, _ record: inout FirestoreRecord
  ) async throws {
    var times: [FirestoreWork: [Sample]] = [:]
    for number in 0..<plan.repetitions {
      let room = SampleRooms.room((round * plan.repetitions + number) * 3 % sample.rooms.count)
      for (work, opened) in [(FirestoreWork.first, alone), (.firstBeside, beside)] {
        let query = opened.firestore.collection(room)
        times[work, default: []].append(try await firstEvent(query, opened))
      }
    }
    for (work, own) in times { record.add(work, name, own) }
  }

  /// Milliseconds until the first event of a listener that begins on a room's cached documents.
  private func firstEvent(_ query: Query, _ opened: Opened) async throws -> Sample {
    let ear = Ear()
    ear.expect(1)
    let watch = Watch()
    let listener = query.listen(ear)
    let (at, found) = try await ear.wait()
    var time = watch.sample
    time.wall = watch.wall(until: at)
    listener.remove()
    try await opened.waitUntilIdle()
    guard found == SampleRooms.messages else {
      throw BenchmarkFailure.lost(name, "what was given")
    }
    return time.scaled(1000)
  }

  /// A write until many listeners on its collection have heard it: all of one query, and each of a query of its own.
  func measureFanOut(
    _ round: Int, _ opened: Opened, _ record: inout FirestoreRecord
  ) async throws {
    let room = opened.firestore.collection(SampleRooms.room((round + 10) % sample.rooms.count))
    let documents = sample.rooms[(round + 10) % sample.rooms.count]
    let path = documents[0].path.description
    for (work, hasOwn) in [(FirestoreWork.fanOut, false), (.fanOutOwn, true)] {
      let ear = Ear()
      ear.expect(plan.listeners)
      let listeners = (0..<plan.listeners).map { number in
        // Each finds all documents.
        let query = hasOwn ? room.whereField("score", isGreaterThan: -10 - number) : room
        return query.listen(ear)
      }
      _ = try await ear.wait()
      var times: [Sample] = []
      for number in 0..<5 {
        ear.expect(plan.listeners)
        let watch = Watch()
        opened.firestore.document(path).enqueue(
          .set(["score": Self.value(round, number) + (hasOwn ? 5 : 0)], merge: true))
        let at = try await ear.wait().at
        var time = watch.sample
        time.wall = watch.wall(until: at)
        times.append(time.scaled(1000))
      }
      record.add(work, name, times)
      for listener in listeners { listener.remove() }
      try await opened.waitUntilIdle()
    }
  }
}

/// Appends to a file and syncs it, as cheaply as a write can become durable.
struct RawFlush: ~Copyable {
  private let path: String
  private let file: FileHandle
  private let bytes = Data(repeating: 7, count: 256)

  /// - Parameter directory: where a file is made and removed.
  init(in directory: String) throws {
    path = "\(directory)/conifer-flush-\(UUID().uuidString)"
    _ = FileManager.default.createFile(atPath: path, contents: nil)
    file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
  }

  deinit {
    try? file.close()
    try? FileManager.default.removeItem(atPath: path)
  }

  /// Seconds of one.
  var sample: Sample {
    let watch = Watch()
    try? file.write(contentsOf: bytes)
    _ = fsync(file.fileDescriptor)
    return watch.sample
  }
}

extension FirestoreWork {
  /// What a written number is raised by, so that no other work writes the same to a document.
  fileprivate var offset: Int {
    switch self {
    case .writeFound, .writeAmong: 5000
    default: 0
    }
  }
}
