internal import ConiferKeyValue
internal import ConiferStorage
internal import ConiferTree

/// A check's side in the process of the test.
struct ProcessTrial: Sendable {
  let factory: BackendFactory
  let directory: String
  let check: String
  let start: @Sendable (ProcessOrder) async -> Void

  /// The store's directory, beside the notes.
  var path: String { directory + "/store" }

  /// Runs the second process's part and waits for its end.
  ///
  /// - Throws: what the second process found.
  func run(_ argument: String = "", endsBy signal: Int32 = 0) async throws {
    await start(
      ProcessOrder(signal: signal, check: check, directory: directory, argument: argument))
    try notes.rethrow()
  }

  var notes: Notes { Notes(path: directory + "/notes") }

  /// Opens the backend; the caller closes it.
  func open() throws -> any StorageBackend {
    try factory.openStore(path)
  }
}

extension ProcessTrial {
  /// Runs the second process's part while a thread does this process's part. That part must not
  /// await, because waiting for a process may block the threads of Swift's tasks.
  func run(
    endsBy signal: Int32 = 0, meanwhile body: @escaping @Sendable () throws -> Void
  ) async throws {
    let thread = try System.Thread(body)
    do {
      try await run(endsBy: signal)
    } catch {
      _ = thread.join()
      throw error
    }
    if let error = thread.join() { throw error }
  }

  /// Opens the backend as soon as its dying owner no longer holds it.
  func openOnceFree() throws -> any StorageBackend {
    for _ in 0..<1000 {
      do {
        return try open()
      } catch let error as StoreError {
        if error.code != .busy { throw error }
      }
      System.pause()
    }
    throw ConformanceFailure(.leak, "the store stays owned ten seconds after its owner was killed")
  }
}

/// A check's side in the second process.
struct ChildTrial: Sendable {
  let factory: BackendFactory
  let order: ProcessOrder

  var directory: String { order.directory }
  var path: String { directory + "/store" }
  var argument: String { order.argument }
  var notes: Notes { Notes(path: directory + "/notes") }

  /// Sends a line to the test's process.
  func note(_ text: String) { notes.add(text) }

  /// Opens the backend; the caller closes it.
  func open() throws -> any StorageBackend {
    try factory.openStore(path)
  }
}

extension BackendFactory {
  /// Opens a backend without a budget in a directory, which is created if missing.
  func openStore(_ path: String) throws -> any StorageBackend {
    try? System.makeDirectory(path)
    var options = options
    options.budget = nil
    return try open(path, options)
  }
}

/// A file of lines by which two processes exchange messages.
struct Notes: Sendable {
  let path: String

  func add(_ text: String) {
    // A process that waits for a line that could not be written fails.
    try? System.append(text.split(separator: "\n").joined(separator: " | "), to: path)
  }

  var lines: [String] {
    String(decoding: (try? System.content(of: path)) ?? [], as: UTF8.self).split(separator: "\n")
      .map(
        String.init)
  }

  /// Waits for a line that begins with some words, and returns what follows them.
  func wait(for words: String) throws -> String {
    for _ in 0..<6000 {
      if let line = lines.first(where: { $0.hasPrefix(words) }) {
        return String(line.dropFirst(words.count))
      }
      try rethrow()
      System.pause()
    }
    throw ConformanceFailure("the other process did not say \"\(words)\" within a minute")
  }

  /// Throws the failure that the second process reported.
  func rethrow() throws {
    guard let line = lines.first(where: { $0.hasPrefix("failed ") }) else { return }
    let parts = line.dropFirst("failed ".count).split(separator: "\t", maxSplits: 1).map(
      String.init)
    let name = parts.count > 1 ? parts[0] : Anomaly.broken.rawValue
    let message = parts.last ?? ""
    throw ConformanceFailure(Anomaly(rawValue: name), "in the second process: \(message)")
  }
}
