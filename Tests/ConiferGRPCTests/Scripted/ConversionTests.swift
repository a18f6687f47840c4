#if GRPC
  import ConiferDocument
  import ConiferProtobuf
  import SwiftProtobuf
  import TestSupport
  import Testing

  @Suite("Messages and what they say") struct ConversionTests {
    @Test("Values of all kinds are those that they were made from")
    func values() throws {
      let vector: DocumentValue = .vector([1, 2.5])
      // It would come back as other values.
      let integers: MapValue = ["__type__": "__vector__", "value": [1, 2.5]]
      for value: DocumentValue in [
        nil, true, .integer(.min), 2.5, "a", .bytes([0, 255]), [1, ["x": [2.5]]], vector,
        .map(integers), .map(["__type__": "__vector__"]),
      ] {
        #expect(try DocumentValue(ProtoValue(value)) == value)
      }
      #expect(throws: ProtoError.self) { try DocumentValue(ProtoValue()) }
    }

    @Test("The size of a write in a request is that of its message", arguments: Seeded.seeds(4))
    func sizes(_ seed: UInt64) throws {
      var random = Seeded(seed)
      let database = DatabaseID(project: "p")
      func value(_ depth: Int) throws -> DocumentValue {
        switch random.below(depth > 0 ? 16 : 11) {
        case 0: return .null
        case 1: return .boolean(random.chance(50))
        case 2: return .integer(random.pick([0, 1, 127, 128, -1, .max, .min, 1 << 34]))
        case 3: return .double(1.5)
        case 4: return .timestamp(try Timestamp(seconds: 1_700_000_000, nanoseconds: 999_999_000))
        case 5: return .string(String(repeating: "é", count: random.pick([0, 1, 63, 64, 9000])))
        case 6: return .bytes([UInt8](repeating: 1, count: random.pick([0, 127, 128, 20_000])))
        case 7:
          return .reference(DocumentName(try DocumentPath("c/\(random.below(999))"), in: database))
        case 8: return .geoPoint(try GeoPoint(latitude: 1, longitude: -1))
        case 9: return .vector(Array(repeating: 0.5, count: random.pick([0, 1, 2048])))
        case 10: return .string("")
        case 11, 12: return .array(try (0..<random.below(40)).map { _ in try value(depth - 1) })
        default: return .map(try map(depth - 1))
        }
      }
      func map(_ depth: Int) throws -> MapValue {
        MapValue(
          try (0..<random.below(6)).map {
            ("n\($0)" + String(repeating: "n", count: random.pick([0, 200])), try value(depth))
          })
      }
      for _ in 0..<300 {
        let field = try FieldPath(["f\(random.below(9))", random.pick(["g", "a b`", "é"])])
        let transforms = try (0..<random.below(4)).map { _ in
          FieldTransform(
            field,
            random.pick([
              .serverTimestamp, .increment(.integer(-5)), .minimum(.double(2)),
              .maximum(.integer(3)),
              .arrayUnion([try value(2)]), .arrayRemove([try value(2), .null]),
            ]))
        }
        let change: Mutation.Change = random.pick([
          .set(try map(3), transforms), .patch(try map(3), FieldMask([field]), transforms), .delete,
          .verify,
        ])
        let mutation = Mutation(
          try DocumentPath("c/d\(random.below(999))"), change,
          if: random.pick([
            .none, .exists(true), .exists(false),
            .updateTime(try Timestamp(seconds: -9, nanoseconds: 999_999_000)),
          ]))
        let request = ProtoCommitRequest.with { $0.writes = [ProtoWrite(mutation, in: database)] }
        let bytes: [UInt8] = try request.serializedBytes()
        let size = bytes.count
        let counted = mutation.requestSize
        // Beside the name of the database, lengths may take a byte more.
        #expect(size <= counted && counted <= size + 170, "seed \(seed): \(size), \(counted)")
      }
    }
  }
#endif
