#if GRPC
  package import ConiferDocument
  package import ConiferWire
  import SwiftProtobuf

  extension ProtoTarget {
    /// What a server is asked for, in a database.
    package init(_ watch: WatchTarget, in database: DatabaseID) {
      self.init()
      targetID = watch.id
      if let query = ProtoStructuredQuery(watch.target) {
        self.query.parent = watch.target.parent(in: database)
        self.query.structuredQuery = query
      } else if let path = watch.document {
        documents.documents = ["\(DocumentName(path, in: database))"]
      }
      if !watch.resumeToken.isEmpty {
        resumeToken = watch.resumeToken.data
      } else if watch.version > .zero {
        readTime = Google_Protobuf_Timestamp(watch.version)
      }
      if let count = watch.expectedCount {
        expectedCount = Google_Protobuf_Int32Value(Int32(clamping: count))
      }
    }
  }

  extension WatchChange {
    /// What a server says on the stream of listens, and the moment up to which all was said of all targets, when it is
    /// that; nil for what is not known here.
    ///
    /// - Throws: when it makes no sense.
    package static func read(
      _ response: ProtoListenResponse, in database: DatabaseID
    ) throws(ProtoError) -> (change: WatchChange, version: Timestamp?)? {
      switch response.responseType {
      case .targetChange(let change): return try read(change)
      case .documentChange(let change):
        let document = try Document(change.document, in: database)
        return (
          .document(
            document, matching: change.targetIds, leaving: change.removedTargetIds), nil
        )
      case .documentDelete(let change):
        let path = try DocumentPath(name: change.document, in: database)
        let version = change.hasReadTime ? try Timestamp(change.readTime) : .zero
        let document = Document(path, .missing, version: version)
        return (.document(document, leaving: change.removedTargetIds), nil)
      case .documentRemove(let change):
        let path = try DocumentPath(name: change.document, in: database)
        return (.left(path, change.removedTargetIds), nil)
      case .filter(let filter):
        return (
          .filter(filter.targetID, count: Int(filter.count), BloomFilter(filter.unchangedNames)),
          nil
        )
      case nil: return nil
      }
    }

    private static func read(
      _ change: ProtoTargetChange
    ) throws(ProtoError) -> (change: WatchChange, version: Timestamp?)? {
      let event: Event
      switch change.targetChangeType {
      case .noChange: event = .noChange
      case .add: event = .added
      case .remove where change.hasCause: event = .rejected(StatusError(change.cause))
      case .remove: event = .removed
      case .current: event = .current
      case .reset: event = .reset
      case .UNRECOGNIZED: return nil
      }
      let isOfAll = change.targetIds.isEmpty && change.hasReadTime
      let time = isOfAll ? try Timestamp(change.readTime) : .zero
      return (
        .targets(event, change.targetIds, resumeToken: [UInt8](change.resumeToken)),
        time > .zero ? time : nil
      )
    }
  }

  extension BloomFilter {
    fileprivate init?(_ filter: ProtoBloomFilter) {
      self.init(
        bitmap: [UInt8](filter.bits.bitmap), padding: Int(filter.bits.padding),
        hashCount: Int(filter.hashCount))
    }
  }

  extension StatusError {
    /// Why something failed; a code that is not known here is `unknown`.
    package init(_ status: ProtoStatus) {
      self.init(StatusCode(rawValue: Int(status.code)) ?? .unknown, status.message)
    }
  }
#endif
