public import ConiferDocument
import ConiferWire

// What the server itself reads and writes: nothing is forbidden to it.
extension DocumentServer {
  /// A document as the server has it; nil when it does not exist.
  ///
  /// - Throws: `DocumentServerError` when the store cannot be read.
  public func document(
    _ path: DocumentPath, in database: DatabaseID
  ) async throws(DocumentServerError) -> StoredDocument? {
    do throws(StatusError) {
      return try await using(database) { host throws(StatusError) in try await host.stored(path) }
    } catch {
      throw DocumentServerError(error)
    }
  }

  /// What a query gives, in its order.
  ///
  /// - Throws: `DocumentServerError` when the service would refuse the query, or the store cannot be read.
  public func documents(
    _ query: DocumentQuery
  ) async throws(DocumentServerError) -> [StoredDocument] {
    do throws(StatusError) {
      return try await using(query.database) { host throws(StatusError) in
        try await host.run(query, .server).documents.compactMap(StoredDocument.init)
      }
    } catch { throw DocumentServerError(error) }
  }

  /// Makes writes whole or not at all; returns once they are stored. Clients that listen are told.
  ///
  /// - Returns: when they were made: the version of the documents that they changed.
  /// - Throws: `DocumentServerError` when a precondition does not hold or a limit is exceeded, or the store does not
  ///   take them; nothing has changed then.
  @discardableResult
  public func commit(
    _ writes: [Mutation], in database: DatabaseID
  ) async throws(DocumentServerError) -> Timestamp {
    do throws(StatusError) {
      return try await using(database) { host throws(StatusError) in
        try await host.commit(writes, .server).commitTime
      }
    } catch { throw DocumentServerError(error) }
  }
}

/// The error of a server's call, with the service's name of the reason and a message.
public struct DocumentServerError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The service's name of the reason, such as `not-found` or `failed-precondition`.
  public let code: String
  /// What went wrong in words, with the remedy.
  public let message: String

  init(_ error: StatusError) {
    code = error.code.name
    message = error.message
  }

  /// The code and the message in one line.
  public var description: String { "\(code): \(message)" }
}

extension StatusCode {
  /// The service's name of the code, such as `not-found`.
  fileprivate var name: String {
    "\(self)".reduce(into: "") { name, character in
      name += character.isUppercase ? "-\(character.lowercased())" : "\(character)"
    }
  }
}
