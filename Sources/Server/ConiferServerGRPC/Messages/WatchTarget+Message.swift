#if GRPC
  import ConiferDocument
  import ConiferProtobuf
  import ConiferWire
  import SwiftProtobuf

  extension WatchTarget {
    /// What a client asks to listen to.
    ///
    /// - Parameters:
    ///   - id: its number.
    ///   - database: the stream's, which it must be of.
    /// - Throws: `invalidArgument` or `unimplemented` for what is no target here.
    init(_ target: ProtoTarget, _ id: TargetID, in database: DatabaseID) throws(StatusError) {
      guard target.unknownFields.data.isEmpty, !target.once else {
        throw StatusError(
          .unimplemented, "This server knows no targets that end by themselves. Remove the target.")
      }
      self.init(id, try DocumentTarget(target, in: database))
      switch target.resumeType {
      case .resumeToken(let token): resumeToken = [UInt8](token)
      case .readTime(let time):
        version = try StatusError.asInvalidArgument { () throws(ProtoError) in try Timestamp(time) }
      case nil: break
      }
      if target.hasExpectedCount { expectedCount = Int(target.expectedCount.value) }
    }
  }

  extension DocumentTarget {
    fileprivate init(_ target: ProtoTarget, in database: DatabaseID) throws(StatusError) {
      switch target.targetType {
      case .documents(let asked):
        guard asked.documents.count == 1, let name = asked.documents.first else {
          throw StatusError(
            .unimplemented,
            "A target is one document, not \(asked.documents.count). Add a target for each.")
        }
        let path = try DocumentPath.requested(name, in: database)
        self = DocumentQuery(.document(path), in: database).target
      case .query(let asked):
        let parent = try ResourceName(parent: asked.parent)
        guard parent.database == database else {
          throw StatusError(
            .invalidArgument,
            "The target is of \(parent.database), and the stream of \(database).")
        }
        guard case .structuredQuery(let query) = asked.queryType else {
          throw StatusError(.invalidArgument, "A target is a structured query, or a document.")
        }
        let parts = try StructuredQuery(query)
        guard parts.offset == 0, parts.fields.isEmpty else {
          throw StatusError(.unimplemented, "A listen has no offset and no select. Leave them out.")
        }
        do throws(DocumentError) {
          self = try parts.query(below: parent.document, in: database).target
        } catch { throw StatusError(.invalidArgument, error.message) }
      case nil: throw StatusError(.invalidArgument, "A target is a query, or a document.")
      }
    }
  }
#endif
