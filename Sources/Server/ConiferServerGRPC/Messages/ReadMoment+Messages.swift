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

  extension ReadMoment {
    /// As of when a request reads that has such a selector.
    init(
      transaction: Data? = nil, new options: ProtoTransactionOptions? = nil,
      readTime: Google_Protobuf_Timestamp? = nil
    ) throws(StatusError) {
      if let transaction {
        self = .transaction(try Self.name(transaction))
      } else if let options {
        self = .beginning(try TransactionKind(options))
      } else if let readTime {
        self = .past(try StatusError.refusing { () throws(ProtoError) in try Timestamp(readTime) })
      } else {
        self = .newest
      }
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
        self = .readOnly(try StatusError.refusing { () throws(ProtoError) in try Timestamp(time) })
      }
    }
  }
#endif
