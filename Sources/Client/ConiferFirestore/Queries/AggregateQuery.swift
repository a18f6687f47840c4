import ConiferDocument
import ConiferDocumentSync
import Foundation

/// Whether the server computes aggregations, or the client from its cache.
public enum AggregateSource: UInt, Sendable, Hashable {
  /// On the server, of all documents; the device need not have them.
  case server
  /// Here, of the documents that the cache has and of the writes that wait. The Apple SDK has no such
  /// source; ``AggregateQuerySnapshot/isFromCache`` marks the answer.
  case cache
}

/// A query for aggregations, such as the count, over the documents of another query.
public final class AggregateQuery: Sendable {
  /// The query.
  public let query: Query
  let fields: [AggregateField]

  init(_ query: Query, _ fields: [AggregateField]) {
    self.query = query
    self.fields = fields
  }

  /// Computes the numbers.
  ///
  /// - Parameters:
  ///   - source: where.
  ///   - completion: given the numbers, or an error, such as `unavailable` when the server had to be asked
  ///     and cannot be reached; on the callback queue.
  public func getAggregation(
    source: AggregateSource,
    completion: @escaping (AggregateQuerySnapshot?, (any Error)?) -> Void
  ) {
    let user = UserCode<(AggregateQuerySnapshot?, (any Error)?)>(completion)
    let firestore = query.firestore
    do throws(FirestoreError) {
      try firestore.engine().aggregate(query.checked(), aggregates(), Self.source(source)) {
        result in
        switch result {
        case .success(let answer): user((AggregateQuerySnapshot(self, answer), nil))
        case .failure(let error): user((nil, error))
        }
      }
    } catch {
      firestore.deliver { user((nil, error)) }
    }
  }

  /// Computes the numbers.
  ///
  /// - Parameter source: where.
  /// - Throws: `unavailable` when the server had to be asked and cannot be reached; `invalidArgument` for
  ///   what is invalid; `permissionDenied`; `cancelled`.
  nonisolated(nonsending)
    public func getAggregation(
      source: AggregateSource
    ) async throws(FirestoreError) -> AggregateQuerySnapshot
  {
    let (asked, aggregates) = (try query.checked(), try aggregates())
    let answer: AggregateAnswer = try await query.firestore.wait {
      $0.aggregate(asked, aggregates, Self.source(source), $1)
    }
    return AggregateQuerySnapshot(self, answer)
  }

  private func aggregates() throws(FirestoreError) -> [Aggregate] {
    guard (1...DocumentLimits.aggregates).contains(fields.count) else {
      throw FirestoreError(
        .invalidArgument,
        "A query asks for \(fields.count) aggregates. Ask for one to \(DocumentLimits.aggregates) at "
          + "once.")
    }
    var aggregates: [Aggregate] = []
    for field in fields { aggregates.append(try field.content.get()) }
    return aggregates
  }

  private static func source(_ source: AggregateSource) -> GetSource {
    source == .server ? .server : .cache
  }
}

extension AggregateQuery: Hashable {
  /// Whether both ask for the same numbers of the same query.
  public static func == (a: AggregateQuery, b: AggregateQuery) -> Bool {
    a.query == b.query && a.fields == b.fields
  }

  /// Feeds what `==` compares.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(query)
    hasher.combine(fields)
  }
}

extension Query {
  /// How many documents there are, without reading them.
  public final var count: AggregateQuery { aggregate([.count()]) }

  /// Numbers of the documents, without reading them. Only documents count that have all fields named.
  ///
  /// - Parameter aggregateFields: one to five.
  public final func aggregate(_ aggregateFields: [AggregateField]) -> AggregateQuery {
    AggregateQuery(self, aggregateFields)
  }
}
