import ConiferDocument
import ConiferKeyValue
import ConiferStorage
import TestSupport
import Testing

@Suite struct IndexConfigurationTests {
  private let exported = """
    {
      "indexes": [
        {
          "collectionGroup": "restaurants", "queryScope": "COLLECTION", "density": "SPARSE_ALL",
          "apiScope": "ANY_API", "multiKey": false, "unique": false,
          "fields": [
            {"fieldPath": "city", "order": "ASCENDING"},
            {"fieldPath": "`avg rating`", "order": "DESCENDING"},
            {"fieldPath": "__name__", "order": "DESCENDING"}
          ]
        },
        {
          "collectionGroup": "ratings", "queryScope": "COLLECTION_GROUP",
          "fields": [
            {"fieldPath": "tags", "arrayConfig": "CONTAINS"},
            {"fieldPath": "time", "order": "ASCENDING"},
            {"fieldPath": "__name__", "order": "DESCENDING"}
          ]
        },
        {
          "collectionGroup": "ratings", "queryScope": "COLLECTION",
          "fields": [{"fieldPath": "v", "vectorConfig": {"dimension": 4, "flat": {}}}]
        }
      ],
      "fieldOverrides": [
        {
          "collectionGroup": "ratings", "fieldPath": "user.id", "ttl": false,
          "indexes": [
            {"order": "DESCENDING", "queryScope": "COLLECTION_GROUP"},
            {"arrayConfig": "CONTAINS", "queryScope": "COLLECTION"}
          ]
        },
        {"collectionGroup": "ratings", "fieldPath": "text", "indexes": []},
        {"collectionGroup": "ratings", "fieldPath": "*", "indexes": []},
        {"collectionGroup": "users", "fieldPath": "*", "indexes": [{"order": "ASCENDING"}]}
      ]
    }
    """

  private func field(
    _ path: String, _ kind: DocumentIndex.Field.Kind = .ascending
  ) throws -> DocumentIndex.Field {
    DocumentIndex.Field(try FieldPath(canonical: path), kind)
  }

  @Test func `What the vendor's tool exports is read`() throws {
    let expected = try [
      DocumentIndex("restaurants", [field("city"), field("`avg rating`", .descending)]),
      DocumentIndex(
        "ratings", [field("tags", .contains), field("time"), field("__name__", .descending)],
        scope: .group),
      DocumentIndex("ratings", [field("user.id", .descending)], scope: .group),
      DocumentIndex("ratings", [field("user.id", .contains)]),
    ]
    #expect(try IndexConfiguration(json: exported).indexes == expected)
    for json in [
      "{\"indexes\": []}", "{\"fieldOverrides\": []}", "{\"$schema\": \"x\", \"indexes\": []}",
    ] {
      #expect(try IndexConfiguration(json: json).indexes.isEmpty)
    }
  }

  @Test func `What is written reads back as the same indexes`() throws {
    let configuration = try IndexConfiguration(json: exported)
    #expect(try IndexConfiguration(json: configuration.json) == configuration)
    #expect(
      try IndexConfiguration([DocumentIndex("c", [field("a")])]).json == """
        {
          "indexes": [],
          "fieldOverrides": [
            {
              "collectionGroup": "c",
              "fieldPath": "a",
              "indexes": [
                {
                  "order": "ASCENDING",
                  "queryScope": "COLLECTION"
                }
              ]
            }
          ]
        }
        """)
  }

  @Test(arguments: Seeded.seeds(40))
  func `Random indexes read back as they were written`(seed: UInt64) throws {
    var random = Seeded(seed)
    let paths = try ["a", "b.c", "`d e`", "`\\``", "é", "list"].map(FieldPath.init(canonical:))
    let indexes = (0..<random.below(12)).compactMap { _ -> DocumentIndex? in
      var fields = (1...3).map { _ in
        DocumentIndex.Field(
          random.pick(paths), random.pick([.ascending, .ascending, .descending, .contains]))
      }
      fields.removeLast(random.below(3))
      if random.chance(30) {
        fields.append(DocumentIndex.Field(.documentID, random.pick([.ascending, .descending])))
      }
      return try? DocumentIndex(
        random.pick(["c", "d \"q\"", "é"]), fields, scope: random.pick([.collection, .group]))
    }
    let configuration = IndexConfiguration(indexes)
    let read = try IndexConfiguration(json: configuration.json)
    #expect(Set(read.indexes) == Set(indexes), "seed \(seed)")
    #expect(read.indexes.count == configuration.indexes.count, "seed \(seed)")
  }

  @Test(arguments: [
    ("", "The index configuration is no JSON at line 1, column 1: "),
    ("{\"indexes\": [", "The index configuration is no JSON at line 1, column 14: "),
    ("{\n  \"indexes\": [,]}", "The index configuration is no JSON at line 2, column 15: "),
    ("{} {}", "The index configuration is no JSON"),
    ("[]", "The index configuration must be an object."),
    ("{}", "The index configuration lacks the key indexes: write"),
    ("{\"index\": []}", "The index configuration has the key \"index\""),
    (
      "{\"indexes\": [], \"fieldOverides\": []}",
      "The index configuration has the key \"fieldOverides\""
    ),
    (
      "{\"indexes\": [{}], \"indexes\": []}",
      "The index configuration has the key indexes more than once"
    ),
    (
      """
      {"indexes": [{"collectionGroup": "c", "queryscope": "COLLECTION_GROUP", "fields": []}]}
      """, "indexes[0]: has the key \"queryscope\": it may have collectionGroup, queryScope, "
    ),
    (
      """
      {"indexes": [{"collectionGroup": "c", "fields": [{"fieldPath": "a", "Order": "ASCENDING"}]}]}
      """, "indexes[0].fields[0]: has the key \"Order\": it may have fieldPath, "
    ),
    (
      """
      {"indexes": [{"collectionGroup": "c", "fields": [
        {"fieldPath": "v", "vectorConfig": {"dimension": 4, "flat": {}}}, {"fieldPath": "a"}]}]}
      """, "indexes[0].fields[1]: lacks the key order or arrayConfig"
    ),
    (
      """
      {"indexes": [{"collectionGroup": "c", "fields": [
        {"fieldPath": "v", "vectorConfig": {"size": 4}}]}]}
      """, "indexes[0].fields[0].vectorConfig: has the key \"size\""
    ),
    (
      """
      {"indexes": [{"collectionGroup": "c", "fields": [
        {"fieldPath": "v", "order": "ASCENDING", "vectorConfig": {}}]}]}
      """, "indexes[0].fields[0]: has both vectorConfig and order"
    ),
    (
      """
      {"indexes": [{"collectionGroup": "c", "fields": [
        {"fieldPath": "a.__x__", "order": "ASCENDING"}]}]}
      """, "indexes[0].fields[0].fieldPath: The index names the field 'a.__x__'"
    ),
    (
      """
      {"fieldOverrides": [{"collectionGroup": "c", "fieldPath": "__x__", "indexes": []}]}
      """, "fieldOverrides[0].fieldPath: The index names the field '__x__'"
    ),
    (
      """
      {"fieldOverrides": [{"collectionGroup": "c", "fieldPath": "a", "index": []}]}
      """, "fieldOverrides[0]: has the key \"index\""
    ),
    (
      """
      {"fieldOverrides": [{"collectionGroup": "c", "fieldPath": "*", "indexes": [
        {"order": "ASCENDING", "scope": "COLLECTION"}]}]}
      """, "fieldOverrides[0].indexes[0]: has the key \"scope\""
    ),
    ("{\"indexes\": {}}", "indexes: must be an array"),
    ("{\"indexes\": [7]}", "indexes[0]: must be an object"),
    ("{\"indexes\": [{}]}", "indexes[0]: lacks the key collectionGroup"),
    (
      "{\"indexes\": [{\"collectionGroup\": 1}]}", "indexes[0].collectionGroup: must be a string"
    ),
    (
      "{\"indexes\": [{\"collectionGroup\": \"..\"}]}",
      "indexes[0].collectionGroup: '..' cannot be the id of a collection"
    ),
    (
      "{\"fieldOverrides\": [{\"collectionGroup\": \"__a__\"}]}",
      "fieldOverrides[0].collectionGroup: '__a__' cannot be the id of a collection"
    ),
    (
      "{\"indexes\": [{\"collectionGroup\": \"a/b\", \"fields\": [{\"fieldPath\": \"a\", \"order\": \"ASCENDING\"}]}]}",
      "indexes[0]: \"a/b\" is no collection's id"
    ),
    (
      "{\"indexes\": [{\"collectionGroup\": \"c\"}]}", "indexes[0]: lacks the key fields"
    ),
    (
      "{\"indexes\": [{\"collectionGroup\": \"c\", \"queryScope\": \"ALL\", \"fields\": []}]}",
      "indexes[0].queryScope: must be COLLECTION or COLLECTION_GROUP, not \"ALL\""
    ),
    (
      "{\"indexes\": [{\"collectionGroup\": \"c\", \"fields\": []}]}",
      "indexes[0]: The index of c has no fields"
    ),
    (
      "{\"indexes\": [{\"collectionGroup\": \"c\", \"fields\": [{\"order\": \"ASCENDING\"}]}]}",
      "indexes[0].fields[0]: lacks the key fieldPath"
    ),
    (
      """
      {"indexes": [{"collectionGroup": "c", "fields": [{"fieldPath": "a", "order": "UP"}]}]}
      """, "indexes[0].fields[0].order: must be ASCENDING or DESCENDING, not \"UP\""
    ),
    (
      """
      {"indexes": [{"collectionGroup": "c", "fields": [{"fieldPath": "a", "order": null}]}]}
      """, "indexes[0].fields[0].order: must be ASCENDING or DESCENDING, not null"
    ),
    (
      """
      {"indexes": [{"collectionGroup": "c", "fields": [{"fieldPath": "a"}]}]}
      """, "indexes[0].fields[0]: lacks the key order or arrayConfig"
    ),
    (
      """
      {"indexes": [{"collectionGroup": "c", "fields": [{"fieldPath": "a..b", "order": "ASCENDING"}]}]}
      """, "indexes[0].fields[0].fieldPath: The field path 'a..b' has an empty name"
    ),
    (
      """
      {"fieldOverrides": [{"collectionGroup": "c", "fieldPath": "a", "indexes": [
        {"order": "ASCENDING"}, {"order": "ASCENDING", "arrayConfig": "CONTAINS"}]}]}
      """, "fieldOverrides[0].indexes[1]: has both order and arrayConfig"
    ),
    (
      """
      {"fieldOverrides": [{"collectionGroup": "c", "fieldPath": "*", "indexes": [
        {"order": "UP"}]}]}
      """, "fieldOverrides[0].indexes[0].order: must be ASCENDING or DESCENDING"
    ),
    (
      """
      {"indexes": [{"collectionGroup": "c", "fields": [{"fieldPath": "*", "order": "ASCENDING"}]}]}
      """, "indexes[0].fields[0].fieldPath: \"*\" is no field"
    ),
  ])
  func `What is wrong is refused with its place`(json: String, message: String) {
    do throws(StoreError) {
      _ = try IndexConfiguration(json: json)
      Issue.record("read \(json)")
    } catch {
      #expect(error.code == .invalid)
      #expect(error.message.hasPrefix(message), "\(error.message)")
    }
  }
}
