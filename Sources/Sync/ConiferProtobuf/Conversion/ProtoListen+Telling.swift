#if GRPC
  package import ConiferDocument
  package import ConiferWire
  import SwiftProtobuf

  extension ProtoListenResponse {
    /// What a server says on a stream of listens.
    ///
    /// - Parameter version: the moment up to which all was said of all targets, when it is that.
    package init(_ change: WatchChange, version: Timestamp?, in database: DatabaseID) {
      self.init()
      switch change {
      case .targets(let event, let ids, let token):
        targetChange = ProtoTargetChange(event, ids)
        targetChange.resumeToken = token.data
        if let version { targetChange.readTime = Google_Protobuf_Timestamp(version) }
      case .document(let document, let matching, let leaving) where document.fields != nil:
        documentChange.document = ProtoDocument(document, in: database)
        documentChange.targetIds = matching
        documentChange.removedTargetIds = leaving
      case .document(let document, _, let leaving):
        documentDelete.document = "\(DocumentName(document.path, in: database))"
        documentDelete.readTime = Google_Protobuf_Timestamp(document.version)
        documentDelete.removedTargetIds = leaving
      case .left(let path, let ids):
        documentRemove.document = "\(DocumentName(path, in: database))"
        documentRemove.removedTargetIds = ids
      case .filter(let id, let count, let names):
        filter.targetID = id
        filter.count = Int32(clamping: count)
        if let names { filter.unchangedNames = ProtoBloomFilter(names) }
      // Only the client side of a connection produces this; no server sends it.
      case .unreadable: break
      }
    }
  }

  extension ProtoTargetChange {
    fileprivate init(_ event: WatchChange.Event, _ ids: [TargetID]) {
      self.init()
      targetIds = ids
      switch event {
      case .noChange: targetChangeType = .noChange
      case .added: targetChangeType = .add
      case .removed: targetChangeType = .remove
      case .rejected(let error):
        targetChangeType = .remove
        cause = ProtoStatus(error)
      case .current: targetChangeType = .current
      case .reset: targetChangeType = .reset
      }
    }
  }

  extension ProtoBloomFilter {
    fileprivate init(_ filter: BloomFilter) {
      self.init()
      bits.bitmap = filter.bitmap.data
      bits.padding = Int32(clamping: filter.padding)
      hashCount = Int32(clamping: filter.hashCount)
    }
  }

  extension ProtoDocument {
    /// A document that exists, with its times, as a server answers it.
    package init(_ document: Document, in database: DatabaseID) {
      self.init(document.path, document.fields ?? .empty, in: database)
      if let time = document.createTime { createTime = Google_Protobuf_Timestamp(time) }
      updateTime = Google_Protobuf_Timestamp(document.version)
    }
  }
#endif
