#if GRPC
  import ConiferDocument
  import ConiferDocumentServer
  import ConiferProtobuf
  import ConiferWire
  import SwiftProtobuf

  #if canImport(FoundationEssentials)
    import FoundationEssentials
  #else
    import Foundation
  #endif

  // As of when a request reads, by its selector.
  extension ReadMoment {
    init(_ selector: ProtoGetDocumentRequest.OneOf_ConsistencySelector?) throws(StatusError) {
      switch selector {
      case .transaction(let name): self = .transaction(try Self.name(name))
      case .readTime(let time): self = try Self.past(time)
      case nil: self = .newest
      }
    }

    init(_ selector: ProtoListDocumentsRequest.OneOf_ConsistencySelector?) throws(StatusError) {
      switch selector {
      case .transaction(let name): self = .transaction(try Self.name(name))
      case .readTime(let time): self = try Self.past(time)
      case nil: self = .newest
      }
    }

    init(_ selector: ProtoListCollectionIdsRequest.OneOf_ConsistencySelector?) throws(StatusError) {
      switch selector {
      case .readTime(let time): self = try Self.past(time)
      case nil: self = .newest
      }
    }

    init(_ selector: ProtoBatchGetDocumentsRequest.OneOf_ConsistencySelector?) throws(StatusError) {
      switch selector {
      case .transaction(let name): self = .transaction(try Self.name(name))
      case .newTransaction(let options): self = .beginning(try TransactionKind(options))
      case .readTime(let time): self = try Self.past(time)
      case nil: self = .newest
      }
    }

    init(_ selector: ProtoRunQueryRequest.OneOf_ConsistencySelector?) throws(StatusError) {
      switch selector {
      case .transaction(let name): self = .transaction(try Self.name(name))
      case .newTransaction(let options): self = .beginning(try TransactionKind(options))
      case .readTime(let time): self = try Self.past(time)
      case nil: self = .newest
      }
    }

    init(
      _ selector: ProtoRunAggregationQueryRequest.OneOf_ConsistencySelector?
    ) throws(StatusError) {
      switch selector {
      case .transaction(let name): self = .transaction(try Self.name(name))
      case .newTransaction(let options): self = .beginning(try TransactionKind(options))
      case .readTime(let time): self = try Self.past(time)
      case nil: self = .newest
      }
    }

    private static func past(_ time: Google_Protobuf_Timestamp) throws(StatusError) -> ReadMoment {
      .past(try StatusError.asInvalidArgument { () throws(ProtoError) in try Timestamp(time) })
    }

    /// The name of a transaction.
    static func name(_ bytes: Data) throws(StatusError) -> [UInt8] {
      guard !bytes.isEmpty else {
        throw StatusError(.invalidArgument, "The request names no transaction.")
      }
      return [UInt8](bytes)
    }
  }

  extension TransactionKind {
    /// What a transaction may do, as a request says.
    init(_ options: ProtoTransactionOptions) throws(StatusError) {
      switch options.mode {
      // The transaction that is tried again has ended.
      case nil, .readWrite: self = .readWrite
      case .readOnly(let only):
        guard case .readTime(let time) = only.consistencySelector else {
          self = .readOnly(nil)
          return
        }
        self = .readOnly(
          try StatusError.asInvalidArgument { () throws(ProtoError) in try Timestamp(time) })
      }
    }
  }
#endif
