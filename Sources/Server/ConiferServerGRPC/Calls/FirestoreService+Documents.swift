#if GRPC
  import ConiferDocument
  import ConiferDocumentServer
  import ConiferProtobuf
  import ConiferTree
  import ConiferWire
  import GRPCCore
  import SwiftProtobuf

  // One document, one collection, and the lists of collections.
  extension FirestoreService {
    func api(_ database: DatabaseID, _ token: String?) -> DatabaseAPI {
      DatabaseAPI(server, database, token: token)
    }

    func get(
      _ request: ProtoGetDocumentRequest, _ token: String?, _ answer: Answer<ProtoDocument>
    ) async throws {
      let (database, path) = try ResourceName.document(request.name)
      let mask = request.hasMask ? try FieldMask(request.mask) : nil
      let moment = try ReadMoment(request.consistencySelector)
      let found = try await api(database, token).documents([path], moment)
      defer { withExtendedLifetime(found.share) {} }
      guard let document = found.value.first, document.fields != nil else {
        throw StatusError(.notFound, "Document \"\(request.name)\" not found.")
      }
      try await answer.write(ProtoDocument(document.showing(mask), in: database))
    }

    func list(
      _ request: ProtoListDocumentsRequest, _ token: String?,
      _ answer: Answer<ProtoListDocumentsResponse>
    ) async throws {
      let parent = try ResourceName(parent: request.parent)
      let mask = request.hasMask ? try FieldMask(request.mask) : nil
      let moment = try ReadMoment(request.consistencySelector)
      let found = try await api(parent.database, token).page(
        of: try Self.collection(request.collectionID, below: parent),
        by: DocumentQuery.Order.read(request.orderBy), showsMissing: request.showMissing,
        size: try Self.size(request.pageSize), from: try Self.start(request.pageToken), moment)
      defer { withExtendedLifetime(found.share) {} }
      try await answer.write(
        .with {
          $0.documents = found.value.documents.map { document in
            document.fields == nil
              // One that is missing has a name alone.
              ? .with { $0.name = "\(DocumentName(document.path, in: parent.database))" }
              : ProtoDocument(document.showing(mask), in: parent.database)
          }
          $0.nextPageToken = found.value.next.map { Base64.encode($0) } ?? ""
        })
    }

    func create(
      _ request: ProtoCreateDocumentRequest, _ token: String?, _ answer: Answer<ProtoDocument>
    ) async throws {
      let parent = try ResourceName(parent: request.parent)
      let mask = request.hasMask ? try FieldMask(request.mask) : nil
      let collection = try Self.collection(request.collectionID, below: parent)
      let id = request.documentID
      guard let path = DocumentPath(in: collection, id: id.isEmpty ? DocumentPath.newID() : id)
      else { throw StatusError(.invalidArgument, "documentId is an id without a slash.") }
      guard request.document.name.isEmpty else {
        throw StatusError(
          .invalidArgument, "A document that is made has no name. Give its id as documentId.")
      }
      let fields = try Self.fields(of: request.document)
      let document = try await api(parent.database, token).write(
        Mutation(path, .set(fields, []), if: .exists(false)))
      try await answer.write(ProtoDocument(document.showing(mask), in: parent.database))
    }

    func update(
      _ request: ProtoUpdateDocumentRequest, _ token: String?, _ answer: Answer<ProtoDocument>
    ) async throws {
      let (database, path) = try ResourceName.document(request.document.name)
      let mask = request.hasMask ? try FieldMask(request.mask) : nil
      let fields = try Self.fields(of: request.document)
      let change: Mutation.Change =
        request.hasUpdateMask
        ? .patch(fields, try FieldMask(request.updateMask), []) : .set(fields, [])
      let document = try await api(database, token).write(
        Mutation(path, change, if: try Precondition(request.currentDocument)))
      try await answer.write(ProtoDocument(document.showing(mask), in: database))
    }

    func delete(
      _ request: ProtoDeleteDocumentRequest, _ token: String?,
      _ answer: Answer<Google_Protobuf_Empty>
    ) async throws {
      let (database, path) = try ResourceName.document(request.name)
      _ = try await api(database, token).commit([
        Mutation(path, .delete, if: try Precondition(request.currentDocument))
      ])
      try await answer.write(Google_Protobuf_Empty())
    }

    func listCollectionIDs(
      _ request: ProtoListCollectionIdsRequest, _ token: String?,
      _ answer: Answer<ProtoListCollectionIdsResponse>
    ) async throws {
      let parent = try ResourceName(parent: request.parent)
      let moment = try ReadMoment(request.consistencySelector)
      let found = try await api(parent.database, token).collectionIDs(
        below: parent.document, size: try Self.size(request.pageSize),
        from: try Self.start(request.pageToken), moment)
      defer { withExtendedLifetime(found.share) {} }
      try await answer.write(
        .with {
          $0.collectionIds = found.value.ids
          $0.nextPageToken = found.value.next.map { Base64.encode($0) } ?? ""
        })
    }

    // MARK: Parts

    private static func fields(of document: ProtoDocument) throws(StatusError) -> MapValue {
      try StatusError.asInvalidArgument { () throws(ProtoError) in try MapValue(document.fields) }
    }

    private static func collection(
      _ id: String, below parent: ResourceName
    ) throws(StatusError) -> CollectionPath {
      guard !id.utf8.contains(UInt8(ascii: "/")) else {
        throw StatusError(.invalidArgument, "collectionId is one name without slashes.")
      }
      do throws(DocumentError) {
        guard let document = parent.document else { return try CollectionPath(id) }
        return try document.collection(id)
      } catch { throw StatusError(.invalidArgument, error.message) }
    }

    /// How many a page has.
    private static func size(_ asked: Int32) throws(StatusError) -> Int {
      guard asked >= 0 else {
        throw StatusError(.invalidArgument, "pageSize is a number from 0.")
      }
      return asked == 0 ? RequestLimits.page : min(Int(asked), RequestLimits.page)
    }

    /// Where a list goes on; nil for its beginning.
    private static func start(_ token: String) throws(StatusError) -> [UInt8]? {
      if token.isEmpty { return nil }
      if let bytes = Base64.decode(token) { return bytes }
      throw StatusError(
        .invalidArgument, "The page token is damaged. Send the one of the last page.")
    }
  }
#endif
