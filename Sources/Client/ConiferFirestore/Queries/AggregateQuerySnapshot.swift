import ConiferDocument
public import Foundation

/// The results of an aggregate query at one moment.
public final class AggregateQuerySnapshot: Sendable {
  /// What was asked for.
  public let query: AggregateQuery
  private let answer: AggregateAnswer

  init(_ query: AggregateQuery, _ answer: AggregateAnswer) {
    self.query = query
    self.answer = answer
  }

  /// How many documents there are; 0 and a log of an error when that was not asked for.
  public var count: NSNumber { self.get(.count()) as? NSNumber ?? 0 }

  /// A number: a sum as an integer or a double, an average as a double or `NSNull`.
  ///
  /// - Parameter aggregateField: one that was asked for; another one is logged as an error and gives nil.
  public func get(_ aggregateField: AggregateField) -> Any? {
    let firestore = query.query.firestore
    guard let index = query.fields.firstIndex(of: aggregateField), index < answer.values.count
    else {
      firestore.report(
        FirestoreError(
          .invalidArgument,
          "The aggregate query did not ask for this number. Name it in aggregate(_:)."))
      return nil
    }
    return DataWriter(firestore: firestore).value(answer.values[index])
  }

  /// Whether the numbers are of what the cache has, rather than the server's.
  public var isFromCache: Bool { answer.cached != nil }

  /// Whether the cache has ever had all documents of the query; true of the server's numbers.
  public var wasEverComplete: Bool { answer.cached?.wasEverComplete ?? true }

  /// As of when the server told what the cache has; nil when it never did, and of the server's numbers.
  public var serverTime: Timestamp? {
    answer.cached.flatMap { $0.readTime == .zero ? nil : Timestamp($0.readTime) }
  }
}

extension AggregateQuerySnapshot: Hashable {
  /// Whether question, numbers and their source are the same.
  public static func == (a: AggregateQuerySnapshot, b: AggregateQuerySnapshot) -> Bool {
    a.query == b.query && a.answer.values == b.answer.values && a.isFromCache == b.isFromCache
  }

  /// Feeds what `==` compares.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(query)
    hasher.combine(answer.values)
  }
}
