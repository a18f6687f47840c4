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
    /// that; nil for what is not known here. What is invalid of a document is `unreadable`.
    ///
    /// - Throws: when anything else is invalid.
    package static func read(
      _ response: ProtoListenResponse, in database: DatabaseID
    ) throws(ProtoError) -> (change: WatchChange, version: Timestamp?)? {
      switch response.responseType {
      case .targetChange(let change): return try read(change)
      case .documentChange(let change):
        return (self.change(change, in: database), nil)
      case .documentDelete(let change):
        return (
          readable(change.document, change.removedTargetIds) { (ids) throws(ProtoError) in
            let path = try DocumentPath(name: change.document, in: database)
            let version = change.hasReadTime ? try Timestamp(change.readTime) : .zero
            return .document(Document(path, .missing, version: version), leaving: ids)
          }, nil
        )
      case .documentRemove(let change):
        return (
          readable(change.document, change.removedTargetIds) { (ids) throws(ProtoError) in
            .left(try DocumentPath(name: change.document, in: database), ids)
          }, nil
        )
      case .filter(let filter):
        return (
          .filter(filter.targetID, count: Int(filter.count), BloomFilter(filter.unchangedNames)),
          nil
        )
      case nil: return nil
      }
    }

    private static func change(
      _ change: ProtoDocumentChange, in database: DatabaseID
    ) -> WatchChange {
      let (ids, leaving) = (change.targetIds, change.removedTargetIds)
      return readable(change.document.name, ids + leaving) { (_) throws(ProtoError) in
        // The content of a document that matches no target does not matter.
        guard !ids.isEmpty else {
          return .left(try DocumentPath(name: change.document.name, in: database), leaving)
        }
        return .document(
          try Document(change.document, in: database), matching: ids, leaving: leaving)
      }
    }

    /// What a closure reads of what was said of a document for targets.
    private static func readable(
      _ name: String, _ ids: [TargetID],
      _ body: ([TargetID]) throws(ProtoError) -> WatchChange
    ) -> WatchChange {
      do throws(ProtoError) { return try body(ids) } catch {
        return .unreadable(name, ids, error)
      }
    }

    /// What was said of a document for targets cannot be read.
    fileprivate static func unreadable(
      _ name: String, _ ids: [TargetID], _ error: ProtoError
    ) -> WatchChange {
      .unreadable(
        StatusError(
          .dataLoss,
          "What the server sent of the document \(name.prefix(500)) cannot be read: \(error)"), ids)
    }

    /// What a server says on the stream of listens in bytes that are no message: which document it is of, and for which
    /// targets, is read without the document.
    ///
    /// - Throws: the error, when they say nothing of a document.
    package static func read(
      unreadable bytes: [UInt8], _ error: ProtoError
    ) throws(ProtoError) -> WatchChange {
      guard let outline = PartialListenResponse(bytes) else { throw error }
      return .unreadable(outline.document, outline.targets, error)
    }

    private static func read(
      _ change: ProtoTargetChange
    ) throws(ProtoError) -> (change: WatchChange, version: Timestamp?)? {
      let event: Event
      switch change.targetChangeType {
      case .noChange: event = .noChange
      case .add: event = .added
      case .remove where change.cause.code != 0: event = .rejected(StatusError(change.cause))
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
