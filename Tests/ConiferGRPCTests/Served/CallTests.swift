#if GRPC
  import ConiferDocument
  import ConiferDocumentServer
  import ConiferProtobuf
  import ConiferServerGRPC
  import ConiferWire
  import SwiftProtobuf
  import Testing

  /// Calls of one request that Conifer's client does not make.
  @Suite(.timeLimit(.minutes(5))) struct CallTests {
    private func document(_ name: String, _ fields: MapValue) -> ProtoDocument {
      .with {
        $0.name = name
        $0.fields = fields.fields.map { ProtoField($0) }
      }
    }

    private func mask(_ paths: String...) -> ProtoDocumentMask { .with { $0.fieldPaths = paths } }

    private func rooms(_ change: (inout ProtoStructuredQuery) -> Void) -> ProtoStructuredQuery {
      .with {
        $0.from = [.with { $0.collectionID = "rooms" }]
        change(&$0)
      }
    }

    @Test("A document is made, read, changed and deleted by itself")
    func documents() async throws {
      try await served { served in
        let made: ProtoDocument = try await served.call(
          "CreateDocument",
          ProtoCreateDocumentRequest.with {
            $0.parent = served.root
            $0.collectionID = "rooms"
            $0.documentID = "eros"
            $0.document = document("", ["name": "Eros", "size": 3])
          })
        let name = "\(served.root)/rooms/eros"
        #expect(made.name == name && made.hasCreateTime && made.fields.count == 2)
        let again = try await served.refusal(
          "CreateDocument",
          ProtoCreateDocumentRequest.with {
            $0.parent = served.root
            $0.collectionID = "rooms"
            $0.documentID = "eros"
          })
        #expect(again?.code == .alreadyExists)
        let other: ProtoDocument = try await served.call(
          "CreateDocument",
          ProtoCreateDocumentRequest.with {
            $0.parent = name
            $0.collectionID = "doors"
          })
        #expect(other.name.hasPrefix("\(name)/doors/") && other.name.count == name.count + 27)
        let changed: ProtoDocument = try await served.call(
          "UpdateDocument",
          ProtoUpdateDocumentRequest.with {
            $0.document = document(name, ["size": 4])
            $0.updateMask = mask("size")
            $0.mask = mask("size")
            $0.currentDocument.updateTime = made.updateTime
          })
        #expect(changed.fields.map(\.key) == ["size"] && changed.createTime == made.createTime)
        let stale = try await served.refusal(
          "UpdateDocument",
          ProtoUpdateDocumentRequest.with {
            $0.document = document(name, [:])
            $0.currentDocument.updateTime = made.updateTime
          })
        #expect(stale?.code == .failedPrecondition)
        let read: ProtoDocument = try await served.call(
          "GetDocument",
          ProtoGetDocumentRequest.with {
            $0.name = name
            $0.mask = mask("name")
          })
        #expect(read.fields.map(\.key) == ["name"] && read.updateTime == changed.updateTime)
        let _: Google_Protobuf_Empty = try await served.call(
          "DeleteDocument", ProtoDeleteDocumentRequest.with { $0.name = name })
        let gone = try await served.refusal(
          "GetDocument", ProtoGetDocumentRequest.with { $0.name = name })
        #expect(gone?.code == .notFound && gone?.message.contains(name) == true)
        let none = try await served.refusal(
          "DeleteDocument",
          ProtoDeleteDocumentRequest.with {
            $0.name = name
            $0.currentDocument.exists = true
          })
        #expect(none?.code == .notFound)
      }
    }

    @Test("Collections and their ids are listed in pages")
    func lists() async throws {
      try await served { served in
        try await served.fill(5)
        try await served.documents.commit(
          [Mutation(try DocumentPath("rooms/ghost/doors/a"), .set(["n": 1], []))],
          in: served.database)
        var (names, token) = ([String](), "")
        repeat {
          let page: ProtoListDocumentsResponse = try await served.call(
            "ListDocuments",
            ProtoListDocumentsRequest.with {
              $0.parent = served.root
              $0.collectionID = "rooms"
              $0.pageSize = 2
              $0.pageToken = token
              $0.showMissing = true
            })
          #expect(page.documents.count <= 2)
          names += page.documents.map { String($0.name.dropFirst(served.root.count + 1)) }
          #expect(page.documents.allSatisfy { $0.hasCreateTime != $0.name.hasSuffix("ghost") })
          token = page.nextPageToken
        } while !token.isEmpty
        #expect(names == ["rooms/ghost"] + (0..<5).map { "rooms/r\($0)" })
        let last: ProtoListDocumentsResponse = try await served.call(
          "ListDocuments",
          ProtoListDocumentsRequest.with {
            $0.parent = served.root
            $0.collectionID = "rooms"
            $0.orderBy = "n desc"
            $0.pageSize = 1
            $0.mask = mask()
          })
        #expect(last.documents.map(\.name) == ["\(served.root)/rooms/r4"])
        #expect(last.documents.first?.fields.isEmpty == true)
        try await served.documents.commit(
          [Mutation(try DocumentPath("halls/a"), .set(["n": 1], []))], in: served.database)
        let first: ProtoListCollectionIdsResponse = try await served.call(
          "ListCollectionIds",
          ProtoListCollectionIdsRequest.with {
            $0.parent = served.root
            $0.pageSize = 1
          })
        #expect(first.collectionIds == ["halls"])
        let second: ProtoListCollectionIdsResponse = try await served.call(
          "ListCollectionIds",
          ProtoListCollectionIdsRequest.with {
            $0.parent = served.root
            $0.pageToken = first.nextPageToken
          })
        #expect(second.collectionIds == ["rooms"] && second.nextPageToken.isEmpty)
        let below: ProtoListCollectionIdsResponse = try await served.call(
          "ListCollectionIds",
          ProtoListCollectionIdsRequest.with { $0.parent = "\(served.root)/rooms/ghost" })
        #expect(below.collectionIds == ["doors"])
      }
    }

    @Test("A transaction is made only while what it read is as it was")
    func transactions() async throws {
      try await served { served in
        try await served.fill(2)
        let name = "\(served.root)/rooms/r0"
        let got: [ProtoBatchGetDocumentsResponse] = try await served.list(
          "BatchGetDocuments",
          ProtoBatchGetDocumentsRequest.with {
            $0.database = served.name
            $0.documents = [name, "\(served.root)/rooms/none"]
            $0.mask = mask("n")
            $0.newTransaction.readWrite = .init()
          })
        let transaction = try #require(got.first?.transaction)
        #expect(!transaction.isEmpty && got.count == 3 && got.allSatisfy(\.hasReadTime))
        #expect(
          got.dropFirst().map { $0.found.name + $0.missing }.sorted() == [
            "\(served.root)/rooms/none", name,
          ])
        let commit = ProtoCommitRequest.with {
          $0.database = served.name
          $0.transaction = transaction
          $0.writes = [.with { $0.update = document(name, ["n": 7]) }]
        }
        try await served.documents.commit(
          [Mutation(try DocumentPath("rooms/r0"), .set(["n": 5], []))], in: served.database)
        #expect(try await served.refusal("Commit", commit)?.code == .aborted)
        #expect(try await served.refusal("Commit", commit)?.code == .invalidArgument)
        let begun: ProtoBeginTransactionResponse = try await served.call(
          "BeginTransaction",
          ProtoBeginTransactionRequest.with {
            $0.database = served.name
            $0.options.readWrite.retryTransaction = transaction
          })
        let _: [ProtoRunQueryResponse] = try await served.list(
          "RunQuery",
          ProtoRunQueryRequest.with {
            $0.parent = served.root
            $0.structuredQuery = rooms { _ in }
            $0.transaction = begun.transaction
          })
        let made: ProtoCommitResponse = try await served.call(
          "Commit",
          ProtoCommitRequest.with {
            $0 = commit
            $0.transaction = begun.transaction
          })
        #expect(made.writeResults.first?.updateTime == made.commitTime)
        let ended: ProtoBeginTransactionResponse = try await served.call(
          "BeginTransaction",
          ProtoBeginTransactionRequest.with {
            $0.database = served.name
            $0.options.readOnly = .init()
          })
        let rollback = ProtoRollbackRequest.with {
          $0.database = served.name
          $0.transaction = ended.transaction
        }
        #expect(try await served.refusal("Rollback", rollback) == nil)
        let late = try await served.refusal(
          "GetDocument",
          ProtoGetDocumentRequest.with {
            $0.name = name
            $0.transaction = ended.transaction
          })
        #expect(late?.code == .invalidArgument)
      }
    }

    @Test("Queries have offsets and fields, and aggregates a bound")
    func queries() async throws {
      try await served { served in
        try await served.fill(10)
        func run(
          _ change: (inout ProtoStructuredQuery) -> Void
        ) async throws -> [ProtoRunQueryResponse] {
          let query = rooms(change)
          return try await served.list(
            "RunQuery",
            ProtoRunQueryRequest.with {
              $0.parent = served.root
              $0.structuredQuery = query
            })
        }
        let shown = try await run {
          $0.orderBy = [
            .with {
              $0.field.fieldPath = "n"; $0.direction = .descending
            }
          ]
          $0.offset = 2
          $0.limit = Google_Protobuf_Int32Value(3)
          $0.select.fields = [.with { $0.fieldPath = "__name__" }]
        }
        #expect(shown.map { $0.document.name.suffix(2) } == ["r7", "r6", "r5"])
        #expect(shown.allSatisfy { $0.document.fields.isEmpty && $0.hasReadTime })
        let none = try await run { $0.offset = 20 }
        #expect(none.count == 1 && none[0].skippedResults == 10 && !none[0].hasDocument)
        #expect(none[0].hasReadTime)
        func aggregate(
          _ aggregations: [ProtoStructuredAggregationQuery.Aggregation]
        ) async throws -> ProtoRunAggregationQueryResponse {
          let query = rooms { _ in }
          return try await served.call(
            "RunAggregationQuery",
            ProtoRunAggregationQueryRequest.with {
              $0.parent = served.root
              $0.structuredAggregationQuery.structuredQuery = query
              $0.structuredAggregationQuery.aggregations = aggregations
              $0.newTransaction.readOnly = .init()
            })
        }
        let begun = try await aggregate([
          .with { $0.count.upTo = Google_Protobuf_Int64Value(4) },
          .with {
            $0.alias = "sum"
            $0.sum.field.fieldPath = "n"
          },
        ])
        // The transaction comes first, alone.
        #expect(!begun.transaction.isEmpty && !begun.hasResult)
        let query = rooms { _ in }
        let numbers: [ProtoRunAggregationQueryResponse] = try await served.list(
          "RunAggregationQuery",
          ProtoRunAggregationQueryRequest.with {
            $0.parent = served.root
            $0.structuredAggregationQuery.structuredQuery = query
            $0.structuredAggregationQuery.aggregations = [
              .with { $0.count.upTo = Google_Protobuf_Int64Value(4) },
              .with {
                $0.alias = "sum"
                $0.sum.field.fieldPath = "n"
              },
            ]
          })
        let values = try MapValue(try #require(numbers.first).result.aggregateFields)
        #expect(values == ["field_1": 4, "sum": 45])
      }
    }

    @Test("Writes of a batch are made one by one, each with its status")
    func batches() async throws {
      try await served { served in
        try await served.fill(1)
        let results: ProtoBatchWriteResponse = try await served.call(
          "BatchWrite",
          ProtoBatchWriteRequest.with {
            $0.database = served.name
            $0.writes = [
              .with { $0.update = document("\(served.root)/rooms/new", ["n": 1]) },
              .with {
                $0.update = document("\(served.root)/rooms/none", ["n": 1])
                $0.currentDocument.exists = true
              },
              .with {
                $0.transform.document = "\(served.root)/rooms/r0"
                $0.transform.fieldTransforms = [
                  .with {
                    $0.fieldPath = "n"
                    $0.increment.integerValue = 5
                  }
                ]
              },
            ]
          })
        #expect(results.status.map(\.code) == [0, 5, 0])
        #expect(results.writeResults.map(\.hasUpdateTime) == [true, false, true])
        #expect(results.writeResults[2].transformResults.map(\.integerValue) == [5])
      }
    }

    @Test("What this server does not do, or nobody can read, is refused and says why")
    func refusals() async throws {
      try await served { served in
        let all = ProtoRunQueryRequest.with {
          $0.parent = served.root
          $0.structuredQuery = rooms { _ in }
        }
        // Numbers of fields that only newer services have: findNearest, and explainOptions.
        var query = try all.structuredQuery.serializedBytes() as [UInt8]
        query += [0x4A, 0]
        var nearest = all
        nearest.structuredQuery = try ProtoStructuredQuery(serializedBytes: query)
        #expect(try await served.refusal("RunQuery", nearest)?.code == .unimplemented)
        let explained = try ProtoRunQueryRequest(
          serializedBytes: (try all.serializedBytes() as [UInt8]) + [0x52, 0])
        #expect(try await served.refusal("RunQuery", explained)?.code == .unimplemented)
        for method in ["PartitionQuery", "ExecutePipeline", "Fly"] {
          #expect(try await served.refusal(method, all)?.code == .unimplemented, "\(method)")
        }
        for (parent, word) in [
          ("", "projects/P"), ("rooms", "projects/P"), ("projects/p/databases/d", "documents"),
          ("projects/a b/databases/d/documents", "name"),
          ("projects/p/databases/d/documents/rooms", "rooms"),
          ("projects/p/databases/d/documents/", "path"),
          ("projects/p/databases/d/documents/a/b/", "slash"),
        ] {
          let refusal = try await served.refusal(
            "RunQuery",
            ProtoRunQueryRequest.with {
              $0 = all; $0.parent = parent
            })
          #expect(refusal?.code == .invalidArgument && refusal?.message.contains(word) == true)
        }
        let empty = try await served.refusal(
          "RunQuery", ProtoRunQueryRequest.with { $0.parent = served.root })
        #expect(empty?.message.contains("structuredQuery") == true)
        let other = try await served.refusal(
          "Commit",
          ProtoCommitRequest.with {
            $0.database = served.name
            $0.writes = [.with { $0.delete = "projects/other/databases/d/documents/a/b" }]
          })
        #expect(other?.code == .invalidArgument)
        let slash = try await served.refusal(
          "Commit",
          ProtoCommitRequest.with {
            $0.database = served.name
            $0.writes = [.with { $0.delete = "\(served.root)/a/b/" }]
          })
        #expect(slash?.code == .invalidArgument)
        for id in ["", "a/b/c"] {
          for isGroup in [false, true] {
            let refusal = try await served.refusal(
              "RunQuery",
              ProtoRunQueryRequest.with {
                $0.parent = served.root
                $0.structuredQuery.from = [
                  .with {
                    $0.collectionID = id
                    $0.allDescendants = isGroup
                  }
                ]
              })
            #expect(refusal?.code == .invalidArgument, "\(id) \(isGroup)")
          }
        }
        let deep = try await served.refusal(
          "CreateDocument",
          ProtoCreateDocumentRequest.with {
            $0.parent = served.root
            $0.collectionID = "a/b/c"
          })
        #expect(deep?.code == .invalidArgument)
        let nothing = try await served.refusal(
          "Commit",
          ProtoCommitRequest.with {
            $0.database = served.name
            $0.writes = [.init()]
          })
        #expect(nothing?.code == .invalidArgument)
        // Bytes that are no message.
        let text = try await served.refusal(
          "Commit", Google_Protobuf_StringValue.with { $0.value = "\u{1}\u{2}" })
        #expect(text?.code == .invalidArgument)
      }
    }

    @Test("Tokens are shown to the server's access")
    func tokens() async throws {
      let access = DocumentAccess(
        user: { $0 == "bad" ? nil : DocumentAccess.anyToken($0) },
        allows: { user, _ in user?.id == "ada" })
      try await served(access) { served in
        try await served.fill(1)
        let get = ProtoGetDocumentRequest.with { $0.name = "\(served.root)/rooms/r0" }
        #expect(try await served.refusal("GetDocument", get)?.code == .permissionDenied)
        #expect(try await served.refusal("GetDocument", get, as: "ben")?.code == .permissionDenied)
        #expect(try await served.refusal("GetDocument", get, as: "bad")?.code == .unauthenticated)
        #expect(try await served.refusal("GetDocument", get, as: "ada") == nil)
        #expect(try await served.refusal("GetDocument", get, as: "owner") == nil)
      }
    }

    @Test("Databases are told apart by project and name, and reading makes none")
    func databases() async throws {
      try await served { served in
        for name in [
          "projects/a/databases/(default)", "projects/a/databases/b", "projects/c/databases/b",
        ] {
          let made: ProtoCommitResponse = try await served.call(
            "Commit",
            ProtoCommitRequest.with {
              $0.database = name
              $0.writes = [
                .with { $0.update = document("\(name)/documents/rooms/x", ["in": .string(name)]) }
              ]
            })
          #expect(made.hasCommitTime)
        }
        let read: ProtoDocument = try await served.call(
          "GetDocument",
          ProtoGetDocumentRequest.with { $0.name = "projects/a/databases/b/documents/rooms/x" })
        #expect(read.fields.first?.value.stringValue == "projects/a/databases/b")
        let found = try await served.documents.document(
          try DocumentPath("rooms/x"), in: DatabaseID(project: "c", database: "b"))
        #expect(found?.fields["in"] == "projects/c/databases/b")
      }
    }
  }
#endif
