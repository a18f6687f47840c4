package import ConiferDocument

/// As of when a request reads.
package enum ReadMoment: Sendable, Hashable {
  /// The newest commit.
  case newest
  /// In a transaction that was begun before.
  case transaction([UInt8])
  /// In a transaction that the request begins.
  case beginning(TransactionKind)
  /// As of a time. The server keeps no past states, so this fails if something was committed since.
  case past(Timestamp)
}

/// What a request has read.
package struct ReadResult<Value: Sendable>: Sendable {
  package let value: Value
  /// As of when: the time of the newest commit.
  package let time: Timestamp
  /// The transaction that the request has begun.
  package let transaction: [UInt8]?
  /// The memory that is claimed for it until it is answered; what else the answer takes is claimed there too.
  package let share: ReadShare
}

/// A part of a collection.
package struct DocumentPage: Sendable {
  /// The documents; missing ones have something below them.
  package let documents: [Document]
  /// What asks for the next part; nil when this is the last one.
  package let next: [UInt8]?
}

/// A part of the ids of collections.
package struct CollectionIDPage: Sendable {
  package let ids: [String]
  /// What asks for the next part; nil when this is the last one.
  package let next: [UInt8]?
}
